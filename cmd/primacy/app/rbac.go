package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	namerules "k8s.io/apimachinery/pkg/util/validation"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/primacy-dev/primacy/config"
)

func newGenerateRBAC(a *additions) *cobra.Command {
	var account grantee
	var others people
	c := &cobra.Command{
		Use:   "rbac -f FILE",
		Short: "Print the rights that members with a configuration need, and no others",
		Long: `Print a service account, and the least rights that members with this configuration need:
roles, cluster roles where a right belongs to no namespace, and their bindings. A right is limited
to names where Kubernetes can do that; comments say where it cannot, and why. With --operator and
--viewer it also prints the roles of people, who use the commands, and binds them.

Members ask for the same rights when they start. Generate them anew when the configuration gets
another lock of kind ConfigMap or in another namespace, another source, other member.proofs or other endpoints. Members of
several revisions need the rights of each of them only if a lock of kind ConfigMap, or one in
another namespace, has scope: revision.`,
		Example: `  primacy generate rbac -f primacy.yaml | kubectl apply -f -
  primacy generate rbac -f primacy.yaml --operator group:edge-team --viewer user:jane`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := config.LoadProcess(c.Flags())
			if err != nil {
				return hintMissing(err, "-f and PRIMACY_CONFIG")
			}
			return a.generateRBAC(c.Context(), c.OutOrStdout(), p, account, others)
		},
	}
	account.addFlags(c)
	c.Flags().StringArrayVar(&others.operators, "operator", nil, "who may pin elections and drive rollouts: "+subjectForms+"; may be repeated")
	c.Flags().StringArrayVar(&others.viewers, "viewer", nil, "who may look, in the same forms; may be repeated")
	return c
}

// grantee is the service account of members.
type grantee struct{ name, namespace string }

// addFlags adds the flags of the service account, and those that say which configuration its members have.
func (g *grantee) addFlags(c *cobra.Command) {
	addSettings(c.Flags(), "config", "namespace", "group", "revision")
	c.Flags().StringVar(&g.name, "service-account", "primacy", "name of the members' service account")
	c.Flags().StringVar(&g.namespace, "pod-namespace", "", "namespace of the members' Pods and their service account; by default that of the locks")
}

// complete checks the account of members of the process, and what it needs of the process.
func (g *grantee) complete(p *config.Process) error {
	if p.Configuration == nil {
		return &usageError{errors.New("no configuration (give -f FILE, or set PRIMACY_CONFIG)")}
	}
	if p.Namespace == "" {
		return &usageError{errors.New("no namespace of the locks (give --namespace, or set namespace in the configuration)")}
	}
	g.namespace = cmp.Or(g.namespace, p.Namespace)
	for flag, name := range map[string]string{"--service-account": g.name, "--pod-namespace": g.namespace} {
		if wrong := namerules.IsDNS1123Subdomain(name); wrong != nil {
			return &usageError{fmt.Errorf("%s %q: %s", flag, name, wrong[0])}
		}
	}
	return nil
}

// user is the account's user name.
func (g *grantee) user() string { return "system:serviceaccount:" + g.namespace + ":" + g.name }

func (a *additions) generateRBAC(ctx context.Context, out io.Writer, p *config.Process, to grantee, others people) error {
	if err := to.complete(p); err != nil {
		return err
	}
	checker := a.checker()
	checker.namespace = p.Namespace
	plan, err := checker.plan(ctx, p.Configuration)
	if err != nil {
		return err
	}
	roles, err := others.roles(p, plan.source)
	if err != nil {
		return err
	}
	text, err := (&rights{process: p, to: to}).print(needs(p, "", plan.source), roles)
	if err != nil {
		return fmt.Errorf("print the rights: %w", err)
	}
	_, err = out.Write(text)
	return err
}

// rights are the objects that grant needs.
type rights struct {
	process *config.Process
	to      grantee
	out     bytes.Buffer
	// begun: out has an object.
	begun bool
}

// uses names the roles of each use, and says what they are for.
var uses = []struct {
	use       use
	name, why string
}{
	{toElect, "member", "No member starts without these rights."},
	{toDriveRollouts, "rollout", "The member that drives a rollout writes its progress. Without these rights members still obey pins, rollouts and an abort."},
	{toHearOfDeaths, "deaths", "For member.proofs: without these rights others wait for a leaseDuration after a death."},
	{toReviewTokens, "endpoints", "For the endpoints: without these rights nobody but probes may read them."},
	{toLabelPods, "labels", "For leaderLabel: without these rights no Service follows a leader, and all else is the same."},
	{toRemoveSessions, "sessions", "For member.removeSessions: without this right the sessions of members that come back under new names stay, until somebody runs primacy gc."},
	{toWriteEvents, "events", "For people: without these rights members write no Kubernetes Events, and all else is the same."},
}

func (r *rights) print(all []need, roles []person) ([]byte, error) {
	p := r.process
	r.out.WriteString(comment(fmt.Sprintf("What members of group %s need to run %s, by `primacy generate rbac`. Whoever may write a Lease in namespace %s "+
		"can take or freeze an election, so run nothing else there.", p.Group, filepath.Base(p.Configuration.File), p.Namespace)))
	if err := r.add("", &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Name: r.to.name, Namespace: r.to.namespace},
	}, nil); err != nil {
		return nil, err
	}
	for _, u := range uses {
		for _, at := range r.sites() {
			rules, whys := rulesOf(slices.DeleteFunc(usedTo(u.use, all), func(n need) bool { return n.place != at.place || n.namespace != at.namespace || granted(n, all) }))
			if len(rules) == 0 {
				continue
			}
			why := u.why
			if u.use == toElect && len(usedTo(toRemoveSessions, all)) == 0 {
				why += " Members never delete anything."
			}
			if err := r.grant(u.name, why, at, rules, whys); err != nil {
				return nil, err
			}
		}
	}
	if err := r.grantPeople(roles); err != nil {
		return nil, err
	}
	return r.out.Bytes(), nil
}

// site is where rights are granted.
type site struct {
	place place
	// namespace is set for elsewhere.
	namespace string
}

// sites are all places in which members may need rights.
func (r *rights) sites() []site {
	all := []site{{place: besideLocks}}
	for _, namespace := range r.process.Configuration.Namespaces() {
		all = append(all, site{elsewhere, namespace})
	}
	return append(all, site{place: besidePods}, site{place: inCluster})
}

// granted says whether members that start at all have the permission anyhow.
func granted(n need, all []need) bool {
	return n.use != toElect && slices.ContainsFunc(required(all), func(o need) bool {
		if o.place != n.place || o.namespace != n.namespace || o.resource != n.resource || o.verb != n.verb {
			return false
		}
		without := func(name string) bool { return !slices.Contains(o.limits(), name) }
		return o.limits() == nil || n.limits() != nil && !slices.ContainsFunc(n.limits(), without)
	})
}

// limits are the names to which a rule can be limited; nil for none.
func (n need) limits() []string {
	if n.open {
		return nil
	}
	return n.names
}

// rulesOf makes one rule of all needs that differ in the verb only, and says why it is there.
func rulesOf(all []need) (rules []rbacv1.PolicyRule, whys []string) {
	for _, n := range all {
		names := slices.Compact(slices.Sorted(slices.Values(n.limits())))
		i := slices.IndexFunc(rules, func(r rbacv1.PolicyRule) bool {
			return r.APIGroups[0] == n.resource.Group && r.Resources[0] == n.resource.Resource && slices.Equal(r.ResourceNames, names)
		})
		if i < 0 {
			i = len(rules)
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{n.resource.Group}, Resources: []string{n.resource.Resource}, ResourceNames: names})
			whys = append(whys, "")
		}
		if !slices.Contains(rules[i].Verbs, n.verb) {
			rules[i].Verbs = append(rules[i].Verbs, n.verb)
		}
		if !strings.Contains(whys[i], n.why) {
			whys[i] = strings.TrimSpace(whys[i] + " " + n.why)
		}
	}
	return rules, whys
}

// grant adds a role and its binding.
func (r *rights) grant(name, why string, at site, rules []rbacv1.PolicyRule, whys []string) error {
	const version = "rbac.authorization.k8s.io/v1"
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: r.to.name, Namespace: r.to.namespace}}
	// Roles of several groups may stand in one place, where their names must differ.
	distinct := strings.Join([]string{"primacy", r.process.Namespace, r.process.Group, r.to.name, name}, ":")
	if at.place == inCluster {
		meta := metav1.ObjectMeta{Name: distinct}
		if err := r.add(why, &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ClusterRole"}, ObjectMeta: meta, Rules: rules}, whys); err != nil {
			return err
		}
		return r.add("", &rbacv1.ClusterRoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ClusterRoleBinding"}, ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		}, nil)
	}
	meta := metav1.ObjectMeta{Name: strings.Join([]string{"primacy", r.process.Group, r.to.name, name}, ":"), Namespace: r.process.Namespace}
	switch at.place {
	case besidePods:
		meta.Namespace = r.to.namespace
	case elsewhere:
		meta.Namespace, meta.Name = at.namespace, distinct
	}
	if err := r.add(why, &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "Role"}, ObjectMeta: meta, Rules: rules}, whys); err != nil {
		return err
	}
	return r.add("", &rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "RoleBinding"}, ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
	}, nil)
}

// add writes an object with a comment above it, and one above each of its rules.
func (r *rights) add(why string, object any, whys []string) error {
	text, err := kubeyaml.Marshal(object)
	if err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return err
	}
	top := doc.Content[0]
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value == "rules" {
			for n, rule := range top.Content[i+1].Content {
				rule.HeadComment = comment(whys[n])
				compact(rule)
			}
		}
	}
	if r.begun {
		r.out.WriteString("---\n")
	}
	r.begun = true
	r.out.WriteString(comment(why))
	encoder := yaml.NewEncoder(&r.out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&doc); err != nil {
		return err
	}
	return encoder.Close()
}

// compact writes the lists of a rule in one line each.
func compact(rule *yaml.Node) {
	for _, n := range rule.Content {
		if n.Kind == yaml.SequenceNode {
			n.Style = yaml.FlowStyle
		}
	}
}

// widest is the width of comments.
const widest = 110

// comment makes lines of a comment; none of no text.
func comment(text string) string {
	var b strings.Builder
	line := "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > widest {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	if text == "" {
		return ""
	}
	return b.String() + line + "\n"
}
