package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

func newRevision() *cobra.Command {
	c := &cobra.Command{
		Use:   "revision",
		Short: "Show or set the default revision",
		Args:  noArguments,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newRevisionShow(), newRevisionSet())
	return c
}

func newRevisionShow() *cobra.Command {
	c := &cobra.Command{
		Use:   "show",
		Short: "Show the default revision, as it is stored and as members see it",
		Args:  noArguments,
	}
	addSettings(c.Flags(), groupSettings...)
	ways := &steerWays{output: addOutput(c.Flags())}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return ways.steer(c, func(ctx context.Context, s *steerCommand) error {
			key, err := s.defaultKey()
			if err != nil {
				return err
			}
			stored, remarks, err := s.storedDefault(ctx, key)
			if err != nil {
				return err
			}
			shown := shownRevision{key.Name, key.Key, stored, s.defaultSeen().String(), remarks, inFront(s.plan)}
			text := fmt.Sprintf("stored   %s (ConfigMap %s, key %s)\nseen by members   %s\n", record.Prefer(stored), key.Name, key.Key, shown.Seen)
			for _, remark := range remarks {
				text += "remark   " + remark + "\n"
			}
			for _, what := range shown.InFront {
				text += "comes before it   " + what + "\n"
			}
			return ways.output.write(s.out, text, shown)
		})
	}
	return c
}

// shownRevision is the default revision in JSON and YAML. Fields are added, never renamed.
type shownRevision struct {
	ConfigMap string `json:"configMap"`
	Key       string `json:"key"`
	Revision  string `json:"revision"`
	// Seen is the default that most living members see.
	Seen string `json:"seen"`
	// Remarks name the living members that see something else than what is stored.
	Remarks []string `json:"remarks,omitempty"`
	// InFront lists what overrides the default.
	InFront []string `json:"inFront,omitempty"`
}

// inFront lists the parts of a plan that override the default revision: a pause, drains, handovers, a rollout in
// force, and pins.
func inFront(p rollout.Plan) (all []string) {
	all = view.Standing(p)
	if p.InForce() {
		all = append(all, fmt.Sprintf("the rollout from %s to %s is in force (%s; %s)", p.Rollout.Stable, p.Rollout.Canary, p.Phase(), wayOut(p)))
	}
	var names []string
	for _, pin := range p.Pins {
		names = append(names, pin.Election)
	}
	if names != nil {
		all = append(all, fmt.Sprintf("pinned: %s (primacy pins)", strings.Join(names, ", ")))
	}
	return all
}

// wayOut is the command that helps where a rollout in force overrides the default revision.
func wayOut(p rollout.Plan) string {
	if p.Phase().Blocks() {
		return "primacy rollout end lets elections follow the default again"
	}
	return "primacy rollout status"
}

func newRevisionSet() *cobra.Command {
	c := &cobra.Command{
		Use:   "set REVISION",
		Short: "Set the default revision, where it is kept in a ConfigMap",
		Long: `Set the default revision in the ConfigMap that the configuration names. Elections that are
pinned do not follow it, and none does while a rollout is in force. The command waits until all living
members have seen it, and names those that have not after five seconds.
` + steerNeeds,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{fmt.Errorf("want one revision, got %d arguments (%s --help says more)", len(args), c.CommandPath())}
			}
			if err := revisions.Check(args[0]); err != nil {
				return &usageError{fmt.Errorf("%w (name it as members do: member.revision)", err)}
			}
			return nil
		},
	}
	ways := addSteerWays(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		return ways.steer(c, func(ctx context.Context, s *steerCommand) error { return s.setRevision(ctx, args[0]) })
	}
	return c
}

func (s *steerCommand) setRevision(ctx context.Context, revision string) error {
	key, err := s.defaultKey()
	if err != nil {
		return err
	}
	before, remarks, err := s.storedDefault(ctx, key)
	if err != nil {
		return err
	}
	plan := s.plan
	effect := s.compare(plan, record.Prefer(before), plan, record.Prefer(revision))
	effect.What = fmt.Sprintf("set the default revision to %s (it is %s)", revision, record.Prefer(before))
	effect.Warnings = slices.Concat(effect.Warnings, s.divided(), remarks)
	if plan.InForce() {
		effect.Warnings = append(effect.Warnings, fmt.Sprintf("the rollout from %s to %s is in force (%s), so elections follow that and not the default (%s)", plan.Rollout.Stable, plan.Rollout.Canary, plan.Phase(), wayOut(plan)))
	}
	effect.Warnings = append(effect.Warnings, s.mayMoveUnseen()...)
	effect.Warnings = append(effect.Warnings, s.alsoFollowing(ctx, before)...)
	absent := 0
	for _, m := range effect.Elections {
		if m.Absent {
			absent++
		}
	}
	if absent > 0 {
		effect.Warnings = append(effect.Warnings, fmt.Sprintf("%d of %d elections have no ready member of revision %s and stay where they are", absent, len(effect.Elections), revision))
	}
	return s.carryOutFor(ctx, statusPatience+hearsWithin, effect, func(ctx context.Context) error {
		if now, err := configmap.Get(ctx, s.core, key); err == nil && now != before && now != revision { // somebody may have taken a while to answer
			return fmt.Errorf("the default revision is %s now: somebody has set it meanwhile (look again: primacy revision show)", record.Prefer(now))
		}
		if err := configmap.Set(ctx, s.core, key, revision); err != nil {
			return err
		}
		s.heardDefault(ctx, key, revision)
		return nil
	})
}

// alsoFollowing warns of other groups of the namespace that may follow the same default: their elections move with it.
func (g *groupCommand) alsoFollowing(ctx context.Context, stored string) []string {
	report, err := status.Look(ctx, g.realm, status.Selection{})
	if err != nil || stored == "" {
		return nil
	}
	groups := map[string]bool{}
	for _, m := range report.Members {
		if m.Group != g.group && m.State == status.Live && defaultOf(m) == stored {
			groups[m.Group] = true
		}
	}
	if len(groups) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("members of %s in this namespace go by the same default, %s: if they read it from the same ConfigMap, their elections follow as soon as it changes, all at once", strings.Join(slices.Sorted(maps.Keys(groups)), ", "), stored)}
}

// defaultKey is the ConfigMap key from which the configuration reads the default revision.
func (g *groupCommand) defaultKey() (configmap.Key, error) {
	c := g.process.Configuration
	switch {
	case c == nil:
		return configmap.Key{}, &usageError{errors.New("which ConfigMap has the default revision? (give --config FILE, or set PRIMACY_CONFIG)")}
	case c.DefaultRevision == nil:
		return configmap.Key{}, errors.New("the configuration has no defaultRevision (add one, such as defaultRevision: {configMap: {name: primacy-revisions, key: default}})")
	case c.DefaultRevision.Kind != kindConfigMap:
		return configmap.Key{}, fmt.Errorf("the default revision comes from %s, which is not set with this command (change it there)", c.DefaultRevision.Kind)
	}
	key, err := configmap.KeyIn(c.DefaultRevision.Node, g.namespace)
	return key, c.Within(*c.DefaultRevision, err)
}
