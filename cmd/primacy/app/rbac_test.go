package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// asked are the verbs and resources of the matrix. It does not depend on what members need.
var (
	askedVerbs      = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	askedNamespaced = []schema.GroupResource{
		leases, configMaps, pods, {Resource: "pods/status"}, {Resource: "pods/exec"}, {Resource: "secrets"}, {Resource: "serviceaccounts"},
		{Resource: "serviceaccounts/token"}, {Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}, {Group: "apps", Resource: "deployments"},
		{Group: "rbac.authorization.k8s.io", Resource: "roles"}, {Group: "rbac.authorization.k8s.io", Resource: "rolebindings"},
	}
	askedOfCluster = []schema.GroupResource{
		nodes, {Resource: "nodes/status"}, {Resource: "namespaces"}, {Group: "authentication.k8s.io", Resource: "tokenreviews"},
		{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}, {Group: "authentication.k8s.io", Resource: "users"},
		{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"},
		{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}, {Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
	}
)

// matrix asks the API server what a service account may do: every verb with every resource, with each of the names,
// with another name and with none; in the script's namespace, in another and in all. It prints the rows in which
// something is allowed; for a name only if that differs from what is allowed without a name.
func (s *scripts) matrix(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	fast := rest.CopyConfig(s.cluster.Config)
	fast.QPS = -1
	client, err := authorizationclient.NewForConfig(fast)
	ts.Check(err)
	here := ts.Getenv("NS")
	spec := authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + here + ":" + args[0],
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + here, "system:authenticated"},
	}
	reviews := 0
	var out strings.Builder
	verbs := func(namespace string, of schema.GroupResource, name string) string {
		var allowed []string
		for _, verb := range askedVerbs {
			resource, part, _ := strings.Cut(of.Resource, "/")
			ask := spec
			ask.ResourceAttributes = &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: of.Group, Resource: resource, Subresource: part, Name: name,
			}
			answer, err := client.SubjectAccessReviews().Create(context.Background(), &authorizationv1.SubjectAccessReview{Spec: ask}, metav1.CreateOptions{})
			ts.Check(err)
			reviews++
			if answer.Status.Allowed {
				allowed = append(allowed, verb)
			}
		}
		return strings.Join(allowed, " ")
	}
	rows := func(place, namespace string, resources []schema.GroupResource) {
		for _, of := range resources {
			all := verbs(namespace, of, "")
			if all != "" {
				fmt.Fprintf(&out, "%s: %s: %s\n", place, of, all)
			}
			for _, name := range append(slices.Clone(args[1:]), "another") {
				if one := verbs(namespace, of, name); one != all {
					fmt.Fprintf(&out, "%s: %s %s: %s\n", place, of, name, one)
				}
			}
		}
	}
	rows("here", here, askedNamespaced)
	rows("elsewhere", "default", askedNamespaced)
	rows("everywhere", "", askedNamespaced)
	rows("cluster", "", askedOfCluster)
	ts.Logf("%d reviews", reviews)
	_, err = ts.Stdout().Write([]byte(out.String()))
	ts.Check(err)
}

// token sets a variable to the token of a kubeconfig: token FILE VARIABLE.
func (s *scripts) token(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	c, err := clientcmd.BuildConfigFromFlags("", ts.MkAbs(args[0]))
	ts.Check(err)
	if c.BearerToken == "" {
		ts.Fatalf("%s has no token", args[0])
	}
	ts.Setenv(args[1], c.BearerToken)
}
