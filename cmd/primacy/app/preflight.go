package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
)

// mostNames limits how many objects of one kind we ask about by name.
const mostNames = 16

// preflight finds out whether a member could take part, and says what is missing. It
// stores nothing. It retries temporary failures for a while, so that members survive a start
// during an outage of the API server.
func preflight(ctx context.Context, c *cluster, needs []need, log *zap.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	i := insist(c, patience, log)
	if err := reachWith(ctx, c.config, i); err != nil {
		return err
	}
	if err := checkPermissions(ctx, c, i, needs, log); err != nil {
		return err
	}
	return checkNamespaces(ctx, c, i, needs)
}

// insist makes an insistence for the cluster. The caller's context must end after atMost.
func insist(c *cluster, atMost time.Duration, log *zap.Logger) *insistence {
	return &insistence{waiting: waiting{server: c.config.Host, atMost: atMost}, say: func(w waiting) {
		log.Info("waiting for the API server", zap.String("server", w.server), zap.Duration("atMost", w.atMost), zap.Error(w.err))
	}}
}

// checkNamespaces creates an object in each namespace of sessions and locks, without storing it. This shows a missing
// namespace without the permission to read namespaces.
func checkNamespaces(ctx context.Context, c *cluster, i *insistence, needs []need) error {
	if err := checkNamespace(ctx, c, i, leases, c.namespace, "choose another with --namespace"); err != nil {
		return err
	}
	return checkElsewhere(ctx, c, i, needs)
}

// checkElsewhere is checkNamespaces for those of locks alone.
func checkElsewhere(ctx context.Context, c *cluster, i *insistence, needs []need) error {
	for _, n := range needs {
		if n.place == elsewhere && n.use == toElect && n.verb == "create" {
			if err := checkNamespace(ctx, c, i, n.resource, n.namespace, "correct lock.namespace"); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkNamespace(ctx context.Context, c *cluster, i *insistence, of schema.GroupResource, namespace, or string) error {
	coordination, err := apiserver.ClientFor(c.config, coordinationclient.NewForConfigAndClient)
	if err != nil {
		return err
	}
	core, err := apiserver.ClientFor(c.config, coreclient.NewForConfigAndClient)
	if err != nil {
		return err
	}
	trial, dry, kind := metav1.ObjectMeta{GenerateName: "primacy-preflight-"}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}, config.DefaultLockKind
	create := func(ctx context.Context) error {
		_, err := coordination.Leases(namespace).Create(ctx, &coordinationv1.Lease{ObjectMeta: trial}, dry)
		return err
	}
	if of == configMaps {
		kind = kindOfConfigMaps
		create = func(ctx context.Context) error {
			_, err := core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: trial}, dry)
			return err
		}
	}
	switch err := i.on(ctx, create); {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("namespace %s does not exist (create it: kubectl create namespace %s; or %s)", namespace, namespace, or)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Errorf("namespace %s is being deleted (wait until it is gone and create it again, or %s)", namespace, or)
	default:
		return fmt.Errorf("a %s cannot be created in namespace %s: %w", kind, namespace, err)
	}
}

// checkPermissions asks the API server what this process may do. A missing permission is an error if no member starts
// without it; otherwise the log says what this member cannot do.
func checkPermissions(ctx context.Context, c *cluster, i *insistence, needs []need, log *zap.Logger) error {
	client, err := apiserver.ClientFor(c.config, authorizationclient.NewForConfigAndClient)
	if err != nil {
		return err
	}
	ask := reviewer{client, namespacesOf(c.namespace), i}
	denied, err := ask.denied(ctx, required(needs))
	for _, u := range slices.Sorted(maps.Keys(lacks)) {
		if err != nil || denied != "" {
			break
		}
		var unmet string
		if unmet, err = ask.denied(ctx, usedTo(u, needs)); unmet != "" {
			log.Warn(lacks[u], zap.String("denied", unmet))
		}
	}
	switch {
	case apierrors.IsForbidden(err):
		log.Warn("the API server refuses to say which permissions this process has; a missing one will show as an error later", zap.Error(err))
		return nil
	case err != nil:
		return fmt.Errorf("ask the API server for permissions: %w", err)
	case denied == "":
		return nil
	}
	return fmt.Errorf("%s may not %s (grant it with a Role and a RoleBinding, see manifests/rbac.yaml, or apply what primacy generate rbac prints; for cluster-wide objects with a ClusterRole, see docs/revisions.md)",
		whoAmI(ctx, c), denied)
}

// reviewer asks what this process may do.
type reviewer struct {
	client authorizationclient.SelfSubjectAccessReviewsGetter
	// namespaces are those of the places that have one.
	namespaces map[place]string
	insists    *insistence
}

// namespacesOf are the namespaces of the places, where the sessions are in the given one.
func namespacesOf(sessions string) map[place]string {
	return map[place]string{besideLocks: sessions, besidePods: cmp.Or(os.Getenv("POD_NAMESPACE"), sessions)}
}

// namespace is where the objects of a need are; empty for those of the cluster.
func (r reviewer) namespace(n need) string { return cmp.Or(n.namespace, r.namespaces[n.place]) }

// denied lists which of the needs are denied, and where, for people; empty if none is.
func (r reviewer) denied(ctx context.Context, needs []need) (string, error) {
	type object struct{ what, namespace string }
	missing := map[object][]string{}
	var order []object
	for _, n := range needs {
		ok, without, err := r.permitted(ctx, n)
		if err != nil {
			return "", err
		}
		n.names = without
		if o := (object{n.what(), r.namespace(n)}); !ok {
			if missing[o] == nil {
				order = append(order, o)
			}
			missing[o] = append(missing[o], n.verb)
		}
	}
	texts := make([]string, len(order))
	for i, o := range order {
		texts[i] = strings.Join(missing[o], ", ") + " " + o.what
		if last := i == len(order)-1 || order[i+1].namespace != o.namespace; last && o.namespace != "" {
			texts[i] += " in namespace " + o.namespace
		}
	}
	return strings.Join(texts, ", nor "), nil
}

// permitted asks about the whole namespace first; if that is denied, about each object by name. It returns the names for which it is denied; nil
// for all.
func (r reviewer) permitted(ctx context.Context, n need) (ok bool, without []string, err error) {
	if ok, err = r.ask(ctx, n, ""); ok || err != nil || n.names == nil {
		return ok, nil, err
	}
	for _, name := range n.names[:min(len(n.names), mostNames)] {
		if ok, err := r.ask(ctx, n, name); err != nil {
			return false, nil, err
		} else if !ok {
			without = append(without, name)
		}
	}
	return without == nil, without, nil
}

// ask asks about one object; an empty name means all.
func (r reviewer) ask(ctx context.Context, n need, name string) (allowed bool, err error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.namespace(n), Verb: n.verb, Group: n.resource.Group, Resource: n.resource.Resource, Name: name,
		},
	}}
	err = r.insists.on(ctx, func(ctx context.Context) error {
		answer, err := r.client.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil {
			allowed = answer.Status.Allowed
		}
		return err
	})
	return allowed, err
}

// whoAmI is the name under which the API server knows this process.
func whoAmI(ctx context.Context, c *cluster) string {
	if name, err := userOf(ctx, c); err == nil {
		return name
	}
	return "this process" // the name only makes messages clearer
}

// userOf asks the API server for the name of the user whose credentials we have.
func userOf(ctx context.Context, c *cluster) (string, error) {
	client, err := apiserver.ClientFor(c.config, authenticationclient.NewForConfigAndClient)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	me, err := client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("who am I: %w", err)
	}
	return me.Status.UserInfo.Username, nil
}
