package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// steerCommand is one invocation of a command that changes what elections prefer.
type steerCommand struct {
	groupCommand
	ways *steerWays
	// report and stored are the state before the change.
	report status.Report
	stored steering.Stored
	// plan is the stored plan without what has ended by this machine's clock. Commands show it and compare with it. They change
	// the stored plan instead: members whose clocks are behind still count what has ended here.
	plan rollout.Plan
}

// steerWays are the flags that all commands that change preferences share.
type steerWays struct {
	confirm *confirmation
	dry     *dryRun
	output  *output
}

// addSteerWays defines the flags of a command that changes something.
func addSteerWays(flags *pflag.FlagSet) *steerWays {
	addSettings(flags, groupSettings...)
	return &steerWays{newConfirmation(flags), addDryRun(flags), addOutput(flags)}
}

// steer connects and looks, then runs the command.
func (w *steerWays) steer(c *cobra.Command, run func(context.Context, *steerCommand) error) error {
	return inGroup(c, func(ctx context.Context, g groupCommand) error {
		s := &steerCommand{groupCommand: g, ways: w}
		see := s.seeSettled
		if w.confirm == nil { // it changes nothing
			see = s.see
		}
		if err := see(ctx); err != nil {
			return err
		}
		return run(ctx, s) // without a timeout: a person may take any time to answer
	})
}

// Members see a change and publish that within settlingLooks times settlingPause, where nothing is wrong.
const (
	settlingLooks = 8
	settlingPause = 250 * time.Millisecond
)

// seeSettled is see, once members see the same preference, or after a while: they need a moment to see what the command
// before this one changed.
func (s *steerCommand) seeSettled(ctx context.Context) error {
	for looks := 1; ; looks++ {
		if err := s.see(ctx); err != nil || looks > settlingLooks || s.divided() == nil {
			return err
		}
		if !clock.Wait(ctx, settlingPause) {
			return errDeclined
		}
	}
}

// see reads who leads what, and the stored plan.
func (s *steerCommand) see(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	if s.report, err = status.Look(ctx, s.realm, s.selection); err != nil {
		return s.failed(err)
	}
	if s.group == "" {
		if s.group, err = onlyGroup(s.report, s.namespace); err != nil {
			return err
		}
	}
	s.report = s.present(s.report)
	stored, err := steering.Load(ctx, s.maps(), s.group)
	s.take(stored)
	return err
}

// take notes what is stored, by the time of the report: see reads the report first.
func (s *steerCommand) take(stored steering.Stored) {
	s.stored, s.plan = stored, stored.Plan.At(s.report.At)
	s.stored.Plan = stored.Plan.Kept(s.report.At)
}

// carryOut asks, if leadership will move or there are warnings, then makes the change and shows its effect.
func (s *steerCommand) carryOut(ctx context.Context, effect effect, change func(context.Context) error) error {
	return s.carryOutFor(ctx, statusPatience, effect, change)
}

// carryOutFor is carryOut for a change that may take a while.
func (s *steerCommand) carryOutFor(ctx context.Context, patience time.Duration, effect effect, change func(context.Context) error) error {
	effect.DryRun = bool(*s.ways.dry)
	if effect.DryRun {
		return s.ways.output.write(s.out, effect.text(), effect)
	}
	told := effect
	if question := effect.question(); question != "" && !s.ways.confirm.yes {
		before := effect
		if !s.ways.confirm.ask { // nobody answers, so the warnings are enough
			before.Elections, before.Notes = nil, nil
		}
		if effect.moves() == "" { // the question has the warnings
			before.Warnings = nil
		}
		fmt.Fprint(s.notes, before.details())
		told.Elections, told.Warnings, told.Notes = nil, nil, nil // shown above, or in the question
		if err := s.ways.confirm.of(ctx, question); err != nil {
			return err
		}
	}
	if effect.waits && s.ways.confirm.yes { // nobody has seen them yet
		for _, w := range effect.Warnings {
			fmt.Fprintf(s.notes, "warning: %s\n", w)
		}
		told.Warnings = nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := change(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w (is the API server overloaded? try again)", err)
		}
		return err
	}
	effect.Changed = true
	told.Changed = true
	return s.ways.output.write(s.out, told.text(), effect)
}

func (s *steerCommand) defaultSeen() record.Preferred { return defaultSeen(s.report, s.group) }

// defaultSeen is the default that most live members see; not synced if no member is live.
func defaultSeen(r status.Report, group string) record.Preferred {
	count := map[string]int{}
	for _, m := range r.Members {
		if m.State == status.Live && m.Group == group {
			count[defaultOf(m)]++
		}
	}
	most := ""
	for _, seen := range slices.Sorted(maps.Keys(count)) {
		if most == "" || count[seen] > count[most] {
			most = seen
		}
	}
	return preferredAs(most)
}

func (s *steerCommand) compare(plan rollout.Plan, byDefault record.Preferred, next rollout.Plan, nextDefault record.Preferred) effect {
	was, is := preference{plan, byDefault}, preference{next, nextDefault}
	f := effect{Elections: changes(s.report, s.group, was, is, s.rulebook)}
	if s.stored.Mistakes != nil {
		f.Elections = nil
		f.Warnings = append(f.Warnings, "what is stored of pins and rollout cannot all be read, and members go by what they read last, so what moves is not known: "+oneLine(s.stored.Mistakes))
	}
	if note := s.unlikeNote(s.report); note != "" && slices.ContainsFunc(f.Elections, s.crosses) {
		f.Notes = append(f.Notes, note)
	}
	if !s.rulebook.configured {
		f.Notes = append(f.Notes, unseen)
	}
	if r := next.Rollout; plan.Standstill != nil && next.Standstill == nil && isOn(next) {
		f.Notes = append(f.Notes, fmt.Sprintf("the pause no longer holds the rollout from %s to %s, which then obeys what was said to it meanwhile (primacy rollout status shows what it waits for)", r.Stable, r.Canary))
	}
	if next.Standstill != nil {
		f.Notes = append(f.Notes, view.Standing(rollout.Plan{Standstill: next.Standstill})...)
	}
	f.Notes = append(f.Notes, s.report.Notes...)
	return f
}

// isOn says whether the plan has a rollout that is not over.
func isOn(p rollout.Plan) bool {
	phase := p.Phase()
	return p.Rollout != nil && !phase.Blocks() && phase != rollout.Promoted && phase != rollout.Complete
}

// preference is everything that decides which revision an election prefers.
type preference struct {
	plan      rollout.Plan
	byDefault record.Preferred
}

// changes lists the elections of a group whose preference changes, and what happens to them.
func changes(r status.Report, group string, before, after preference, known rulebook) (all []movement) {
	for _, e := range r.Elections {
		if e.Group != group {
			continue
		}
		if is, was := after.plan.Preferred(e.Name, after.byDefault), before.plan.Preferred(e.Name, before.byDefault); is != was {
			all = append(all, moved(r, e, was, is, known.rules(e.Name)))
		}
	}
	return all
}
