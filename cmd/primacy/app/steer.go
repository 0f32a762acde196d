package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// steerCommand is one invocation of a command that changes what elections prefer.
type steerCommand struct {
	statusCommand
	process *config.Process
	group   string
	core    coreclient.ConfigMapsGetter
	ways    *steerWays
	// report and stored are what was seen before anything is changed.
	report status.Report
	stored steering.Stored
}

// steerWays are the flags that such commands share.
type steerWays struct {
	confirm *confirmation
	dry     *dryRun
	output  *output
}

// steerSettings tell where the group is.
var steerSettings = []string{"config", "kubeconfig", "namespace", "group"}

// settingsOf are the settings among a command's flags: a --revision here is no member's.
func settingsOf(c *cobra.Command) *pflag.FlagSet {
	settings := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range steerSettings {
		settings.AddFlag(c.Flags().Lookup(name))
	}
	return settings
}

// addSteerWays defines the flags of a command that changes something.
func addSteerWays(flags *pflag.FlagSet) *steerWays {
	addSettings(flags, steerSettings...)
	return &steerWays{newConfirmation(flags), addDryRun(flags), addOutput(flags)}
}

// steer connects and looks, then runs the command.
func (w *steerWays) steer(c *cobra.Command, run func(context.Context, *steerCommand) error) error {
	p, err := config.LoadProcess(settingsOf(c))
	if err != nil {
		return hintMissing(err, "--config and PRIMACY_CONFIG")
	}
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	s := &steerCommand{process: p, group: p.Group, ways: w}
	s.out, s.notes = c.OutOrStdout(), c.ErrOrStderr()
	if err := s.connect(ctx, p); err != nil {
		return err
	}
	cluster, err := findCluster(p.Kubeconfig)
	if err != nil {
		return err
	}
	if s.core, err = coreclient.NewForConfig(cluster.config); err != nil {
		return err
	}
	if err := s.see(ctx); err != nil {
		return err
	}
	return run(ctx, s) // a person who is asked has all the time there is
}

// see looks who leads what and what is stored.
func (s *steerCommand) see(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	if s.report, err = status.Look(ctx, s.locks, s.selection); err != nil {
		return s.failed(err)
	}
	if s.group == "" {
		if s.group, err = onlyGroupOf(s.report, s.namespace); err != nil {
			return err
		}
	}
	s.stored, err = steering.Load(ctx, s.maps(), s.group)
	return err
}

func (s *steerCommand) maps() coreclient.ConfigMapInterface { return s.core.ConfigMaps(s.namespace) }

// onlyGroupOf is the group of a namespace that has one.
func onlyGroupOf(r status.Report, namespace string) (string, error) {
	groups := map[string]bool{}
	for _, e := range r.Elections {
		groups[e.Group] = true
	}
	for _, m := range r.Members {
		groups[m.Group] = true
	}
	delete(groups, "")
	names := slices.Sorted(maps.Keys(groups))
	switch len(names) {
	case 0:
		return "", fmt.Errorf("there is no group in namespace %s (--group names one, --namespace chooses another namespace)", namespace)
	case 1:
		return names[0], nil
	}
	return "", &usageError{fmt.Errorf("which group? there are %s in namespace %s (--group names one)", strings.Join(names, ", "), namespace)}
}

// carryOut shows what a change does, asks where leadership moves, and changes it.
func (s *steerCommand) carryOut(ctx context.Context, effect effect, change func(context.Context) error) error {
	effect.DryRun = bool(*s.ways.dry)
	if effect.DryRun {
		return s.ways.output.write(s.out, effect.text(), effect)
	}
	if question := effect.question(); question != "" {
		for _, w := range effect.Warnings { // who is asked should know
			fmt.Fprintf(s.notes, "warning: %s\n", w)
		}
		if err := s.ways.confirm.of(ctx, question); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	if err := change(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w (is the API server overloaded? try again)", err)
		}
		return err
	}
	effect.Changed = true
	return s.ways.output.write(s.out, effect.text(), effect)
}

func (s *steerCommand) defaultSeen() record.Preferred { return defaultSeen(s.report, s.group) }

// defaultSeen is what most living members see as the default; not synced if nobody lives.
func defaultSeen(r status.Report, group string) record.Preferred {
	count := map[string]int{}
	for _, m := range r.Members {
		if m.State == status.Live && m.Group == group {
			seen, _, _ := strings.Cut(m.Preference, " +")
			count[seen]++
		}
	}
	most := ""
	for _, seen := range slices.Sorted(maps.Keys(count)) {
		if most == "" || count[seen] > count[most] {
			most = seen
		}
	}
	switch unset := record.Prefer(""); {
	case most == unset.String():
		return unset
	case record.CheckRevision(most) == nil:
		return record.Prefer(most)
	}
	return record.Preferred{State: record.PreferredNotSynced}
}

func (s *steerCommand) compare(plan rollout.Plan, byDefault record.Preferred, next rollout.Plan, nextDefault record.Preferred) effect {
	was, is := preference{plan, byDefault}, preference{next, nextDefault}
	return effect{Elections: changes(s.report, s.group, was, is)}
}

// preference is all from which preferred revisions follow.
type preference struct {
	plan      rollout.Plan
	byDefault record.Preferred
}

// changes says what becomes of the elections of a group that prefer something else.
func changes(r status.Report, group string, before, after preference) (all []movement) {
	for _, e := range r.Elections {
		if e.Group != group {
			continue
		}
		if is, was := after.plan.Preferred(e.Name, after.byDefault), before.plan.Preferred(e.Name, before.byDefault); is != was {
			all = append(all, moved(r, e, was, is))
		}
	}
	return all
}
