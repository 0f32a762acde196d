package main

import (
	"context"
	"fmt"
	"strings"

	"go.uber.org/zap"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// need is one permission on Leases.
type need struct {
	verb string
	// names are the Leases it is needed on; nil for all of the namespace.
	names []string
}

// mostNames bounds how many Leases are asked about by name.
const mostNames = 16

// needs are the permissions without which a member cannot take part.
func needs(c *config.Configuration, member string) []need {
	names := []string{session.Prefix(c.Group) + member + "-0"}
	for _, e := range c.Elections {
		names = append(names, e.Lock.Name)
	}
	names = names[:min(len(names), mostNames)]
	return []need{{"get", names}, {"list", nil}, {"watch", nil}, {"create", nil}, {"update", names}}
}

// preflight finds out whether a member could take part, and says what is missing. It
// stores nothing.
func preflight(ctx context.Context, c *cluster, needs []need, log *zap.Logger) error {
	if err := reach(ctx, c.config, patience, func(w waiting) {
		log.Info("waiting for the API server", zap.String("server", w.server), zap.Duration("atMost", w.atMost), zap.Error(w.err))
	}); err != nil {
		return err
	}
	if err := checkPermissions(ctx, c, needs, log); err != nil {
		return err
	}
	return checkNamespace(ctx, c)
}

// checkNamespace creates a Lease without storing it: nobody needs permission to read
// namespaces to learn that one is missing.
func checkNamespace(ctx context.Context, c *cluster) error {
	client, err := coordinationclient.NewForConfig(c.config)
	if err != nil {
		return err
	}
	trial := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "primacy-preflight-"}}
	_, err = client.Leases(c.namespace).Create(ctx, trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("namespace %s does not exist (create it: kubectl create namespace %s; or choose another with --namespace)", c.namespace, c.namespace)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Errorf("namespace %s is being deleted (wait until it is gone and create it again, or choose another with --namespace)", c.namespace)
	}
	return fmt.Errorf("a Lease cannot be created in namespace %s: %w", c.namespace, err)
}

// checkPermissions asks the API server what this process may do.
func checkPermissions(ctx context.Context, c *cluster, needs []need, log *zap.Logger) error {
	client, err := authorizationclient.NewForConfig(c.config)
	if err != nil {
		return err
	}
	var missing []string
	for _, n := range needs {
		ok, err := permitted(ctx, client, c.namespace, n)
		switch {
		case apierrors.IsForbidden(err):
			log.Warn("this process may not ask what it may do; missing permissions will show later", zap.Error(err))
			return nil
		case err != nil:
			return fmt.Errorf("ask the API server for permissions: %w", err)
		case !ok:
			missing = append(missing, n.verb)
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("%s may not %s leases.coordination.k8s.io in namespace %s (grant it with a Role and a RoleBinding; manifests/rbac.yaml has them)",
		whoAmI(ctx, c), strings.Join(missing, ", "), c.namespace)
}

// permitted asks for the whole namespace first, and where that is denied by name.
func permitted(ctx context.Context, client authorizationclient.SelfSubjectAccessReviewsGetter, namespace string, n need) (bool, error) {
	ask := func(name string) (bool, error) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: n.verb, Group: coordinationv1.GroupName, Resource: "leases", Name: name,
			},
		}}
		answer, err := client.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return answer.Status.Allowed, nil
	}
	ok, err := ask("")
	if ok || err != nil || n.names == nil {
		return ok, err
	}
	for _, name := range n.names {
		if ok, err := ask(name); !ok {
			return false, err
		}
	}
	return true, nil
}

// whoAmI is the name under which the API server knows this process.
func whoAmI(ctx context.Context, c *cluster) string {
	client, err := authenticationclient.NewForConfig(c.config)
	if err == nil {
		var me *authenticationv1.SelfSubjectReview
		me, err = client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err == nil {
			return me.Status.UserInfo.Username
		}
	}
	return "this process" // the name is a courtesy
}
