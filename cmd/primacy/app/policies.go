package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/fence/policy"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
)

// fencing says what `generate fence-policy` fences.
type fencing struct {
	to        grantee
	elections []string
	resources []string
}

func newGenerateFencePolicy(a *additions) *cobra.Command {
	var f fencing
	c := &cobra.Command{
		Use:   "fence-policy -f FILE --resource RESOURCE",
		Short: "Print policies with which the API server refuses writes of a former leader",
		Long: `Print a ValidatingAdmissionPolicy and its binding for each election. With them the API server compares
the token that a write carries with that of the lock, and refuses a lower one and a missing one.
It does so for writes of the members' service account to objects that carry the election's stamp,
and for no other account: --service-account and --pod-namespace name it, and a note on standard error
says which one it is.

A member stamps its writes with fence.Gate.Stamping (docs/fencing.md). Generate the policies anew
when an election gets another lock.`,
		Example: `  primacy generate fence-policy -f primacy.yaml --resource deployments.apps --resource configmaps | kubectl apply -f -`,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := config.LoadProcess(c.Flags())
			if err != nil {
				return hintMissing(err, "-f and PRIMACY_CONFIG")
			}
			if err := a.generateFencePolicy(c.Context(), c.OutOrStdout(), p, &f); err != nil {
				return err
			}
			fmt.Fprintf(c.ErrOrStderr(), "note: these policies are for writes of %s and of nobody else (--service-account and --pod-namespace name another account)\n", f.to.user())
			return nil
		},
	}
	f.to.addFlags(c)
	c.Flags().StringSliceVar(&f.resources, "resource", nil, "kind of objects that leaders write, as kubectl api-resources -o name prints them: configmaps, deployments.apps; may be repeated")
	c.Flags().StringSliceVar(&f.elections, "election", nil, "election whose leader writes them; may be repeated (default: all)")
	return c
}

func newGenerateLockPolicy(a *additions) *cobra.Command {
	var to grantee
	c := &cobra.Command{
		Use:   "lock-policy -f FILE",
		Short: "Print a policy that lets nobody but members write locks and sessions",
		Long: `Print a ValidatingAdmissionPolicy and its binding. With them the API server refuses writes to the locks
and sessions of the group by anyone but the members' service account, whatever rights they have:
Kubernetes' role edit may write all Leases and ConfigMaps of a namespace.

An administrator who must write one acts as the service account, with kubectl --as.`,
		Example: `  primacy generate lock-policy -f primacy.yaml | kubectl apply -f -`,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := config.LoadProcess(c.Flags())
			if err != nil {
				return hintMissing(err, "-f and PRIMACY_CONFIG")
			}
			return a.generateLockPolicy(c.Context(), c.OutOrStdout(), p, to)
		},
	}
	to.addFlags(c)
	return c
}

// policed checks the configuration, with the registries, and the members' account.
func (a *additions) policed(ctx context.Context, p *config.Process, to *grantee) error {
	if err := to.complete(p); err != nil {
		return err
	}
	checker := a.checker()
	checker.namespace = p.Namespace
	_, err := checker.plan(ctx, p.Configuration)
	return err
}

func (a *additions) generateFencePolicy(ctx context.Context, out io.Writer, p *config.Process, f *fencing) error {
	if err := a.policed(ctx, p, &f.to); err != nil {
		return err
	}
	if len(f.resources) == 0 {
		return &usageError{errors.New("no resource (give --resource configmaps, for example)")}
	}
	fence := policy.Fence{Group: p.Group, Namespace: p.Namespace, Writers: []string{f.to.user()}}
	for _, r := range f.resources {
		resource, err := policy.ParseResource(r)
		if err != nil {
			return &usageError{fmt.Errorf("--resource %w", err)}
		}
		fence.Resources = append(fence.Resources, resource)
	}
	for _, name := range f.elections {
		if !slices.ContainsFunc(p.Configuration.Elections, func(e config.Election) bool { return e.Name == name }) {
			return &usageError{fmt.Errorf("--election %q: the configuration has no such election", name)}
		}
	}
	w := &rights{process: p, to: f.to}
	w.out.WriteString(comment(fmt.Sprintf("The API server refuses writes of %s to %s unless they carry the token of the present term, by `primacy generate fence-policy`. "+
		"It does so for objects with the stamp of an election, and lets writes of all other users pass: if your members have another service account, give --service-account and --pod-namespace. "+
		"The members' service account must not change these policies.", f.to.user(), strings.Join(f.resources, ", "))))
	for _, e := range p.Configuration.Elections {
		if len(f.elections) > 0 && !slices.Contains(f.elections, e.Name) {
			continue
		}
		why := ""
		switch {
		case e.Disabled:
			why = "it is not enabled, so its terms have no token"
		case e.Lock.MigrateFrom != nil:
			why = "it changes its lock, and members of either lock may lead"
		}
		if why != "" && len(f.elections) > 0 {
			return fmt.Errorf("election %s: no policy: %s", e.Name, why)
		}
		if why != "" {
			w.out.WriteString(comment(fmt.Sprintf("There is no policy for election %s: %s.", e.Name, why)))
			continue
		}
		fence.Election = e.Name
		fence.Lock = policy.LockRef{Kind: policy.Kind(e.Lock.Kind), Namespace: cmp.Or(e.Lock.Namespace, p.Namespace), Name: e.Lock.Name}
		if err := w.addPolicy("Election "+e.Name+".", fence.Policy(), fence.Binding()); err != nil {
			return err
		}
	}
	_, err := out.Write(w.out.Bytes())
	return err
}

func (a *additions) generateLockPolicy(ctx context.Context, out io.Writer, p *config.Process, to grantee) error {
	if err := a.policed(ctx, p, &to); err != nil {
		return err
	}
	for _, e := range p.Configuration.Elections {
		if !e.Disabled && e.Lock.SharedWith != config.SharedWithNobody {
			return fmt.Errorf("election %s: no policy: its lock is shared with %s, which must write it", e.Name, e.Lock.SharedWith)
		}
	}
	w := &rights{process: p, to: to}
	for _, namespace := range append([]string{""}, p.Configuration.Namespaces()...) {
		g := policy.Guard{
			Group: p.Group, Home: p.Namespace, Namespace: cmp.Or(namespace, p.Namespace), Writers: []string{to.user()},
			Leases: lockNames(p.Configuration, config.DefaultLockKind, namespace), ConfigMaps: lockNames(p.Configuration, kindOfConfigMaps, namespace),
		}
		what := "locks"
		if namespace == "" {
			what = "locks and sessions"
			g.Leases = append(g.Leases, controller.ElectionName(p.Group))
		}
		if err := w.addPolicy(fmt.Sprintf("Nobody but %s writes the %s of group %s in namespace %s, by `primacy generate lock-policy`.",
			to.user(), what, p.Group, g.Namespace), g.Policy(), g.Binding()); err != nil {
			return err
		}
	}
	_, err := out.Write(w.out.Bytes())
	return err
}

// addPolicy writes a policy and its binding.
func (r *rights) addPolicy(why string, p *admissionv1.ValidatingAdmissionPolicy, b *admissionv1.ValidatingAdmissionPolicyBinding) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	delete(object, "status") // the API server's
	if err := r.add(why, object, nil); err != nil {
		return err
	}
	return r.add("", b, nil)
}
