package app

import (
	"context"
	"fmt"
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

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/members"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// need is one permission.
type need struct {
	resource schema.GroupResource
	verb     string
	// names are the objects that the permission is for; nil for all in the namespace.
	names []string
	// scope says whether the objects are in the namespace.
	scope revisions.Scope
}

// what names the objects of the permission, for people.
func (n need) what() string {
	switch {
	case n.scope == revisions.OfCluster:
		return n.resource.String() + " " + strings.Join(n.names, ", ") + " of the cluster"
	case n.resource == leases || n.names == nil:
		return n.resource.String()
	}
	return n.resource.String() + " " + strings.Join(n.names, ", ")
}

var (
	leases     = schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}
	configMaps = schema.GroupResource{Resource: "configmaps"}
)

// mostNames limits how many objects we ask about by name.
const mostNames = 16

// needs are the permissions without which a member cannot take part. source is the source of
// the default revision; nil if there is none.
func needs(p *config.Process, member string, source election.Preferences) []need {
	c := p.Configuration
	inLeases := []string{members.SessionName(p.Group, member)}
	var inConfigMaps []string
	of := map[string]*[]string{"Lease": &inLeases, kindOfConfigMaps: &inConfigMaps}
	note := func(kind, name string) {
		if names := of[kind]; names != nil && len(*names) < mostNames {
			*names = append(*names, name)
		}
	}
	for _, e := range c.Elections {
		if e.Disabled {
			continue
		}
		note(e.Lock.Kind, e.Lock.Name)
		if from := e.Lock.MigrateFrom; from != nil {
			note(from.Kind, from.Name)
		}
	}
	all := inNamespace(leases, inLeases, "get")
	all = append(all, inNamespace(leases, nil, "list", "watch", "create")...)
	all = append(all, inNamespace(leases, inLeases, "update")...)
	if len(inConfigMaps) > 0 { // members watch ConfigMap locks by name
		all = append(all, inNamespace(configMaps, inConfigMaps, "get", "list", "watch", "update")...)
		all = append(all, inNamespace(configMaps, nil, "create")...)
	}
	// A member moves no election before it has read all sources of preferred revisions.
	all = append(all, inNamespace(configMaps, []string{rollout.ObjectName(p.Group)}, "get", "list", "watch")...)
	if r, ok := source.(revisions.Reader); ok {
		object := r.Reads()
		for _, verb := range []string{"list", "watch"} {
			all = append(all, need{schema.GroupResource{Group: object.Group, Resource: object.Resource}, verb, []string{object.Name}, object.Scope})
		}
	}
	return all
}

func inNamespace(of schema.GroupResource, names []string, verbs ...string) (all []need) {
	for _, verb := range verbs {
		all = append(all, need{of, verb, names, revisions.OfNamespace})
	}
	return all
}

// wishes are the permissions that a member needs only to drive a rollout.
func wishes(p *config.Process, source election.Preferences) []need {
	maps := []string{rollout.ObjectName(p.Group)}
	r, reads := source.(revisions.Reader)
	if _, writes := source.(revisions.Writer); reads && writes {
		maps = append(maps, r.Reads().Name)
	}
	all := inNamespace(configMaps, maps, "get", "update")
	return append(all, inNamespace(leases, []string{controller.ElectionName(p.Group)}, "get", "update")...)
}

// preflight finds out whether a member could take part, and says what is missing. It
// stores nothing. It retries temporary failures for a while, so that members survive a start
// during an outage of the API server.
func preflight(ctx context.Context, c *cluster, needs, wishes []need, log *zap.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	i := insist(c, patience, log)
	if err := reachWith(ctx, c.config, i); err != nil {
		return err
	}
	if err := checkPermissions(ctx, c, i, needs, wishes, log); err != nil {
		return err
	}
	return checkNamespace(ctx, c, i)
}

// insist makes an insistence for the cluster. The caller's context must end after atMost.
func insist(c *cluster, atMost time.Duration, log *zap.Logger) *insistence {
	return &insistence{waiting: waiting{server: c.config.Host, atMost: atMost}, say: func(w waiting) {
		log.Info("waiting for the API server", zap.String("server", w.server), zap.Duration("atMost", w.atMost), zap.Error(w.err))
	}}
}

// checkNamespace creates a Lease without storing it. This shows a missing namespace without
// the permission to read namespaces.
func checkNamespace(ctx context.Context, c *cluster, i *insistence) error {
	client, err := coordinationclient.NewForConfig(c.config)
	if err != nil {
		return err
	}
	trial := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "primacy-preflight-"}}
	err = i.on(ctx, func(ctx context.Context) error {
		_, err := client.Leases(c.namespace).Create(ctx, trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
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
func checkPermissions(ctx context.Context, c *cluster, i *insistence, needs, wishes []need, log *zap.Logger) error {
	client, err := authorizationclient.NewForConfig(c.config)
	if err != nil {
		return err
	}
	ask := reviewer{client, c.namespace, i}
	denied, err := ask.denied(ctx, needs)
	if err == nil && denied == "" {
		var unmet string
		if unmet, err = ask.denied(ctx, wishes); unmet != "" {
			log.Warn("this member could not drive a rollout (bind the role primacy-rollout of manifests/rbac.yaml to it)", zap.String("denied", unmet))
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
	return fmt.Errorf("%s may not %s in namespace %s (grant it with a Role and a RoleBinding, see manifests/rbac.yaml; for cluster-wide objects with a ClusterRole, see docs/revisions.md)",
		whoAmI(ctx, c), denied, c.namespace)
}

// reviewer asks what this process may do.
type reviewer struct {
	client    authorizationclient.SelfSubjectAccessReviewsGetter
	namespace string
	insists   *insistence
}

// denied lists which of the needs are denied, for people; empty if none is.
func (r reviewer) denied(ctx context.Context, needs []need) (string, error) {
	missing := map[string][]string{}
	var order []string
	for _, n := range needs {
		ok, err := r.permitted(ctx, n)
		if err != nil {
			return "", err
		}
		if what := n.what(); !ok {
			if missing[what] == nil {
				order = append(order, what)
			}
			missing[what] = append(missing[what], n.verb)
		}
	}
	for i, what := range order {
		order[i] = strings.Join(missing[what], ", ") + " " + what
	}
	return strings.Join(order, ", nor "), nil
}

// permitted asks about the whole namespace first; if that is denied, about each object by name.
func (r reviewer) permitted(ctx context.Context, n need) (bool, error) {
	ok, err := r.ask(ctx, n, "")
	if ok || err != nil || n.names == nil {
		return ok, err
	}
	for _, name := range n.names {
		if ok, err := r.ask(ctx, n, name); !ok {
			return false, err
		}
	}
	return true, nil
}

// ask asks about one object; an empty name means all.
func (r reviewer) ask(ctx context.Context, n need, name string) (allowed bool, err error) {
	namespace := r.namespace
	if n.scope == revisions.OfCluster {
		namespace = ""
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: n.verb, Group: n.resource.Group, Resource: n.resource.Resource, Name: name,
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
	client, err := authenticationclient.NewForConfig(c.config)
	if err == nil {
		var me *authenticationv1.SelfSubjectReview
		me, err = client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err == nil {
			return me.Status.UserInfo.Username
		}
	}
	return "this process" // the name only makes messages clearer
}
