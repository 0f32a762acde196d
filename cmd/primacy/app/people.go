package app

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// people are those who get the rights of operators and of viewers, as flags name them.
type people struct{ operators, viewers []string }

const subjectForms = "user:NAME, group:NAME or serviceaccount:NAMESPACE:NAME"

// subjectsOf reads the values of a flag.
func subjectsOf(flag string, values []string) (all []rbacv1.Subject, err error) {
	for _, value := range values {
		kind, name, _ := strings.Cut(value, ":")
		s := rbacv1.Subject{Name: name}
		switch kind {
		case "user":
			s.Kind, s.APIGroup = rbacv1.UserKind, rbacv1.GroupName
		case "group":
			s.Kind, s.APIGroup = rbacv1.GroupKind, rbacv1.GroupName
		case "serviceaccount":
			s.Kind = rbacv1.ServiceAccountKind
			s.Namespace, s.Name, _ = strings.Cut(name, ":")
		}
		if s.Kind == "" || s.Name == "" || s.Kind == rbacv1.ServiceAccountKind && s.Namespace == "" {
			return nil, &usageError{fmt.Errorf("--%s %q: want %s", flag, value, subjectForms)}
		}
		all = append(all, s)
	}
	return all, nil
}

// person is a role for people, with those who have it.
type person struct {
	role, why string
	subjects  []rbacv1.Subject
	rules     []rbacv1.PolicyRule
	whys      []string
	// elsewhere are the verbs on locks in other namespaces.
	elsewhere []string
}

// roles are those that somebody gets.
func (p people) roles(of *config.Process, source election.Preferences) (roles []person, err error) {
	operators, err := subjectsOf("operator", p.operators)
	if err != nil {
		return nil, err
	}
	viewers, err := subjectsOf("viewer", p.viewers)
	if err != nil {
		return nil, err
	}
	rule := func(resource, group string, names []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names, Verbs: verbs}
	}
	seen := []rbacv1.PolicyRule{
		rule(leases.Resource, leases.Group, nil, "list", "watch"),
		rule(configMaps.Resource, "", nil, "list", "watch"),
	}
	whys := []string{
		"Locks and sessions.",
		"Locks of kind ConfigMap. Commands find them by labels, to which Kubernetes limits no right: this shows every ConfigMap of the namespace. Without it they say that they do not see these locks.",
	}
	names := []string{rollout.ObjectName(of.Group)}
	r, reads := source.(revisions.Reader)
	if _, writes := source.(revisions.Writer); reads && writes {
		names = append(names, r.Reads().Name)
	}
	const whyPlan = "Pins, the rollout and the default revision."
	var locks []rbacv1.PolicyRule
	var whyLocks []string
	if mapped := lockNames(of.Configuration, kindOfConfigMaps, ""); mapped != nil {
		locks, whyLocks = []rbacv1.PolicyRule{rule(configMaps.Resource, "", mapped, "get", "update")}, []string{"Locks of kind ConfigMap, for handover --force."}
	}
	roles = []person{
		{role: "operator", why: "For people who pin elections, set the default revision, begin, pause or abort rollouts, and end sessions of the dead.", subjects: operators,
			elsewhere: []string{"get", "list", "watch", "update"},
			rules: slices.Concat([]rbacv1.PolicyRule{
				rule(configMaps.Resource, "", names, "get", "update"),
				rule(configMaps.Resource, "", nil, "create"),
				rule(leases.Resource, leases.Group, nil, "get", "update"),
			}, locks, seen),
			whys: slices.Concat([]string{whyPlan, "The right to create cannot be limited to names. Leave it out if these ConfigMaps exist.",
				"For bury, handback and handover --force. Nobody knows the names of sessions beforehand, so it is a right to write every lock. Leave it out if others do that."}, whyLocks, whys)},
		{role: "viewer", why: "For people and dashboards who look.", subjects: viewers, elsewhere: []string{"list", "watch"},
			rules: append([]rbacv1.PolicyRule{rule(configMaps.Resource, "", names, "get")}, seen...), whys: append([]string{whyPlan}, whys...)},
	}
	return roles, nil
}

// grantPeople adds the roles that somebody gets, and their bindings.
func (r *rights) grantPeople(roles []person) error {
	const version = "rbac.authorization.k8s.io/v1"
	for _, p := range roles {
		if len(p.subjects) == 0 {
			continue
		}
		grant := func(meta metav1.ObjectMeta, rules []rbacv1.PolicyRule, whys []string) error {
			if err := r.add(p.why, &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "Role"}, ObjectMeta: meta, Rules: rules}, whys); err != nil {
				return err
			}
			return r.add("", &rbacv1.RoleBinding{
				TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "RoleBinding"}, ObjectMeta: meta, Subjects: p.subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			}, nil)
		}
		if err := grant(metav1.ObjectMeta{Name: strings.Join([]string{"primacy", r.process.Group, p.role}, ":"), Namespace: r.process.Namespace}, p.rules, p.whys); err != nil {
			return err
		}
		for _, namespace := range r.process.Configuration.Namespaces() {
			at := need{place: elsewhere, namespace: namespace}
			rules, whys := rulesOf(slices.DeleteFunc(append(leasesNeed(r.process, at), mapsNeed(r.process, at)...), func(n need) bool {
				return !slices.Contains(p.elsewhere, n.verb)
			}))
			meta := metav1.ObjectMeta{Name: strings.Join([]string{"primacy", r.process.Namespace, r.process.Group, p.role}, ":"), Namespace: namespace}
			if err := grant(meta, rules, whys); err != nil {
				return err
			}
		}
	}
	return nil
}
