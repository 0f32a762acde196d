package policy

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/primacy-dev/primacy/pkg/election/internal/session"
)

// Guard lets nobody but members write the locks and sessions of a group.
type Guard struct {
	Group, Namespace string
	// Home is the namespace of the sessions; empty for Namespace. In another namespace a Guard is for locks alone.
	Home string
	// Writers are the user names of members.
	Writers []string
	// Leases and ConfigMaps are the names of locks.
	Leases, ConfigMaps []string
}

// cleaners delete what was left: sessions of Pods that are gone, and namespaces.
var cleaners = []string{
	"system:serviceaccount:kube-system:generic-garbage-collector", "system:serviceaccount:kube-system:namespace-controller",
	"system:kube-controller-manager",
}

// Name is the name of the policy and of its binding.
func (g Guard) Name() string {
	if !g.atHome() {
		return strings.Join([]string{g.Group, g.Home, g.Namespace, "locks.primacy.dev"}, ".")
	}
	return strings.Join([]string{g.Group, g.Namespace, "locks.primacy.dev"}, ".")
}

func (g Guard) atHome() bool { return g.Home == "" || g.Home == g.Namespace }

// Policy makes the policy.
func (g Guard) Policy() *admissionv1.ValidatingAdmissionPolicy {
	p := newPolicy(g.Name())
	resources := []schema.GroupResource{{Group: coordinationv1.GroupName, Resource: "leases"}}
	if len(g.ConfigMaps) > 0 {
		resources = append(resources, schema.GroupResource{Group: corev1.GroupName, Resource: "configmaps"})
	}
	p.Spec.MatchConstraints = matches(resources)
	p.Spec.Variables = []admissionv1.Variable{{Name: "name", Expression: "(object == null ? oldObject : object).metadata.name"}}
	ofLeases := "variables.name in " + list(sorted(g.Leases))
	if g.atHome() {
		ofLeases += " || variables.name.startsWith(" + quote(session.Prefix(g.Group)) + ")"
	}
	ours := fmt.Sprintf("request.resource.resource == 'leases' ? (%s) : variables.name in %s", ofLeases, list(sorted(g.ConfigMaps)))
	by := fmt.Sprintf("request.userInfo.username in %s || request.operation == 'DELETE' && request.userInfo.username in %s", list(g.Writers), list(cleaners))
	p.Spec.Validations = []admissionv1.Validation{
		refuse(fmt.Sprintf("!(%s) || %s", ours, by),
			"variables.name + "+quote(" is a lock or a session of group "+g.Group+", which only its members write")),
	}
	return p
}

// Binding makes the binding of the policy to the namespace.
func (g Guard) Binding() *admissionv1.ValidatingAdmissionPolicyBinding {
	b := newBinding(g.Name())
	b.Spec.MatchResources = &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: g.Namespace},
	}}
	return b
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }
