package policy_test

import (
	"context"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/primacy-dev/primacy/pkg/election/fence/policy"
)

// attack is what somebody may do to an object who may write it.
type attack struct {
	name string
	do   func(ctx context.Context, by *kubernetes.Clientset, namespace, name string) error
}

func patchLease(patch string) func(context.Context, *kubernetes.Clientset, string, string) error {
	return func(ctx context.Context, by *kubernetes.Clientset, namespace, name string) error {
		_, err := by.CoordinationV1().Leases(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

func patchMap(patch string) func(context.Context, *kubernetes.Clientset, string, string) error {
	return func(ctx context.Context, by *kubernetes.Clientset, namespace, name string) error {
		_, err := by.CoreV1().ConfigMaps(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

var onLeases = []attack{
	{"update", func(ctx context.Context, by *kubernetes.Clientset, namespace, name string) error {
		o, err := by.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		o.Annotations = map[string]string{"primacy.dev/token": "1"}
		_, err = by.CoordinationV1().Leases(namespace).Update(ctx, o, metav1.UpdateOptions{})
		return err
	}},
	{"patch", patchLease(`{"metadata":{"annotations":{"primacy.dev/token":"2"}}}`)},
	{"labels", patchLease(`{"metadata":{"labels":{"primacy.dev/election":"x","primacy.dev/group":"x"}}}`)},
	{"apply", func(ctx context.Context, by *kubernetes.Clientset, namespace, name string) error {
		patch := fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":%q},"spec":{"holderIdentity":"me"}}`, name)
		force := true
		_, err := by.CoordinationV1().Leases(namespace).Patch(ctx, name, types.ApplyPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "me", Force: &force})
		return err
	}},
	{"delete", func(ctx context.Context, by *kubernetes.Clientset, namespace, name string) error {
		return by.CoordinationV1().Leases(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	}},
	{"create", func(ctx context.Context, by *kubernetes.Clientset, namespace, name string) error {
		_, err := by.CoordinationV1().Leases(namespace).Create(ctx, leaseOf(name), metav1.CreateOptions{})
		return err
	}},
	{"delete of all", func(ctx context.Context, by *kubernetes.Clientset, namespace, _ string) error {
		return by.CoordinationV1().Leases(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	}},
}

// TestGuard checks that somebody with Kubernetes' role edit cannot write locks and sessions, and everything else; and
// that the same attacks succeed once the policy has no rule.
func TestGuard(t *testing.T) {
	for _, ruled := range []bool{true, false} {
		t.Run(fmt.Sprintf("ruled %v", ruled), func(t *testing.T) {
			w := newWorld(t)
			editor := w.editor(t)
			g := policy.Guard{Group: "edge", Namespace: w.namespace, Writers: []string{memberOf(w.namespace)}, Leases: []string{"work"}, ConfigMaps: []string{"map"}}
			p := g.Policy()
			probe := g
			probe.Group, probe.Leases, probe.ConfigMaps = "probe", []string{"probe"}, nil
			if !ruled {
				p.Spec.Validations = []admissionv1.Validation{{Expression: "true"}}
			}
			w.establish(t, p, g.Binding())
			w.establish(t, probe.Policy(), probe.Binding()) // the later one
			takesEffect(t, func() error {
				_, err := editor.CoordinationV1().Leases(w.namespace).Create(t.Context(), leaseOf("probe"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				return err
			})
			sessions := []string{"work", "primacy-edge-host-0"}
			for _, name := range sessions {
				if _, err := w.member.CoordinationV1().Leases(w.namespace).Create(t.Context(), leaseOf(name), metav1.CreateOptions{}); err != nil {
					t.Errorf("a member: %v", err)
				}
			}
			if _, err := w.member.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), configMap("map"), metav1.CreateOptions{}); err != nil {
				t.Errorf("a member: %v", err)
			}
			check := func(what string, err error) {
				t.Helper()
				if ruled && !refused(err) || !ruled && err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			for _, a := range onLeases {
				for _, name := range sessions {
					check(a.name+" "+name, a.do(t.Context(), editor, w.namespace, name))
				}
			}
			check("a ConfigMap lock", patchMap(`{"metadata":{"annotations":{"primacy.dev/token":"2"}}}`)(t.Context(), editor, w.namespace, "map"))
			// What is not ours is theirs.
			for _, name := range []string{"theirs", "primacy-other-host-0"} {
				if err := onLeases[5].do(t.Context(), editor, w.namespace, name); err != nil {
					t.Errorf("create %s: %v", name, err)
				}
			}
			if _, err := editor.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), configMap("work"), metav1.CreateOptions{}); err != nil {
				t.Errorf("a ConfigMap: %v", err)
			}
			if !ruled {
				return
			}
			// Garbage collection deletes the sessions of Pods that are gone, and does nothing else.
			collector := clientOf(t, w.as("system:serviceaccount:kube-system:generic-garbage-collector", "system:masters"))
			check("a collector's patch", onLeases[1].do(t.Context(), collector, w.namespace, "work"))
			if err := onLeases[4].do(t.Context(), collector, w.namespace, "primacy-edge-host-0"); err != nil {
				t.Errorf("a collector: %v", err)
			}
		})
	}
}

// editor is a user with the rights of Kubernetes' role edit in the namespace.
func (w *world) editor(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	const user = "mallory"
	if _, err := w.admin.RbacV1().RoleBindings(w.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		// The role edit is aggregated of this one, by a controller that does not run here.
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:aggregate-to-edit"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return clientOf(t, w.as(user))
}
