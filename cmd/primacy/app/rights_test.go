package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// rights asks the API server about all combinations of verb and resource, independent of the manifests.
func (s *scripts) rights(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	client, err := authorizationclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	namespace := ts.Getenv("NS")
	user := "system:serviceaccount:" + namespace + ":" + args[0]
	groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	may := func(of schema.GroupResource, name string) string {
		var verbs []string
		for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: user, Groups: groups,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: of.Group, Resource: of.Resource, Name: name},
			}}
			answer, err := client.SubjectAccessReviews().Create(context.Background(), review, metav1.CreateOptions{})
			ts.Check(err)
			if answer.Status.Allowed {
				verbs = append(verbs, verb)
			}
		}
		if verbs == nil {
			return "-"
		}
		return strings.Join(verbs, " ")
	}
	var out strings.Builder
	for _, name := range args[1:] {
		fmt.Fprintf(&out, "configmaps %s: %s\n", name, may(configMaps, name))
	}
	for _, of := range []schema.GroupResource{
		configMaps, leases, {Resource: "pods"}, {Resource: "secrets"}, {Resource: "endpoints"}, {Resource: "events"},
		{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"},
		{Group: "rbac.authorization.k8s.io", Resource: "roles"},
	} {
		fmt.Fprintf(&out, "%s: %s\n", of, may(of, ""))
	}
	_, err = ts.Stdout().Write([]byte(out.String()))
	ts.Check(err)
}
