package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/strict"
)

func newRolloutStart() *cobra.Command {
	var spec rollout.Spec
	c := &cobra.Command{
		Use:   "start --canary REVISION (--weights 10,50,100 [--pause 5m] | --steps FILE)",
		Short: "Begin to move elections to another revision, step by step",
		Long: `Begin to move the elections of a group to another revision, the canary, step by step. What
would move at which step, from whom to whom, is shown before anything is written.

The stable revision, to which an abort goes back, is the present default revision, unless
a rollout took that back, or that which leads every election; --stable names it.

A file of steps says what flags cannot:

  steps:
  - elections: [ingress]
  - setWeight: 25
  - pause: {duration: 10m}
  - analysis: {for: 5m}
  - setWeight: 100
  onFailure: Rollback          # or Pause
  acquireTimeout: 60s          # default: 4 times the lease duration
  maxConcurrentMoves: 10
  whenPreferredAbsent: Stay    # or Wait, Rollback
  failureLimit: 0
  checks: [acquired, runners]  # default: all; [none] for none`,
		Example: `  primacy rollout start --canary 1-10-0 --weights 10,50,100 --pause 5m
  primacy rollout start --canary 1-10-0 --steps steps.yaml --dry-run`,
		Args: noArguments,
	}
	f := c.Flags()
	addSettings(f, groupSettings...)
	f.StringVar(&spec.Canary, "canary", "", "the revision to move to")
	f.StringVar(&spec.Stable, "stable", "", "the revision to move from, and back to if need be")
	steps, dry, format, confirm := addSteps(f), addDryRun(f), addOutput(f), newConfirmation(f)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if spec.Canary == "" {
			return &usageError{errors.New("no canary (--canary names the revision to move to)")}
		}
		if err := steps.into(&spec, c.InOrStdin()); err != nil {
			return err
		}
		return runRollout(c, func(ctx context.Context, r *rolloutCommand) error {
			return r.start(ctx, starting{spec: spec, dry: bool(*dry), format: *format, confirm: confirm})
		})
	}
	return c
}

// starting holds the arguments of `rollout start`.
type starting struct {
	spec    rollout.Spec
	dry     bool
	format  output
	confirm *confirmation
}

// start shows what a rollout would do, asks, and begins it.
func (r *rolloutCommand) start(ctx context.Context, s starting) error {
	stored, err := r.load(ctx)
	if err != nil {
		return err
	}
	if stored.Mistakes != nil {
		return fmt.Errorf("cannot start a rollout: the stored rollout is invalid: %s (a controller repairs the status by itself; correct anything else in configmap %s)", oneLine(stored.Mistakes), rollout.ObjectName(r.group))
	}
	report, err := r.look(ctx)
	if err != nil {
		return err
	}
	if names := r.rulebook.stolen(stored.Plan); len(names) > 0 {
		return fmt.Errorf("cannot start a rollout: Istio's electors share the lock of %s, and would take it back at each step (pin it to the revision that Istio prefers: primacy pin %s --revision REVISION)", strings.Join(names[:min(3, len(names))], ", "), names[0])
	}
	spec := s.spec
	if spec.Stable == "" {
		if !slices.ContainsFunc(report.Members, func(m status.Member) bool { return m.State == status.Live }) {
			return fmt.Errorf("cannot start a rollout: no member of group %s lives (start members of both revisions first; primacy status tells more)", r.group)
		}
		if spec.Stable, err = stableOf(report, r.rulebook.movable(report.Elections), spec.Canary, blockedIn(stored.Plan)); err != nil {
			return err
		}
	}
	if spec.AcquireTimeout == 0 {
		spec.AcquireTimeout = rollout.LeaseDurationsToAcquire * leaseDuration(report)
	}
	spec.UID, spec.By = newUID(), operator(ctx, r.cluster)
	now := time.Now()
	next, err := stored.Plan.Start(spec, now) // fills in defaults
	if err != nil {
		return withEnd(err, stored.Plan, spec.Canary)
	}
	seen := seenOf(r.group, stored.Plan, report, spec.Canary, r.rulebook)
	if err := alive(*next.Rollout, seen); err != nil {
		return err
	}
	byDefault := defaultSeen(report, r.group)
	atOnce := changes(report, r.group, preference{stored.Plan, byDefault}, preference{next, byDefault}, r.rulebook)
	analysis, err := analyse(*next.Rollout, afterwards(seen, atOnce, spec.Stable))
	if err != nil {
		return err
	}
	analysis.AtOnce = atOnce
	analysis.spread(func(election string) []string {
		i := slices.IndexFunc(report.Elections, func(e status.Election) bool { return e.Name == election })
		return identities(r.rulebook.rules(election).canarys(report, report.Elections[i], stored.Plan, spec.Canary))
	})
	if note := r.unlikeNote(report); note != "" {
		analysis.Notes = append(analysis.Notes, note)
	}
	if !r.rulebook.configured {
		analysis.Notes = append(analysis.Notes, unseen)
	}
	looking, cancel := context.WithTimeout(ctx, statusPatience)
	analysis.Notes = append(analysis.Notes, r.alsoFollowing(looking, spec.Stable)...)
	cancel()
	if warning := standingDown(report, r.group, spec.Canary); warning != "" {
		analysis.Notes = append(analysis.Notes, warning)
	}
	if !slices.ContainsFunc(next.Rollout.Steps, givesTime) {
		analysis.Notes = append(analysis.Notes, "no step waits, so the rollout is promoted as soon as all elections have moved, and checks, which end then, see nothing of their work (put a pause or an analysis between the steps)")
	}
	analysis.Notes = append(append(analysis.Notes, view.Standing(stored.Plan)...), report.Notes...)
	analysis.DryRun, analysis.Group = s.dry, r.group
	if s.dry || s.format == outputText {
		if err := s.format.write(r.out, analysis.text(), analysis); err != nil || s.dry {
			return err
		}
	}
	if err := s.confirm.of(ctx, analysis.question(len(seen.Elections))); err != nil {
		return err
	}
	if err := r.change(ctx, func(p rollout.Plan) (rollout.Plan, error) {
		if before := stored.Plan; (before.Rollout != nil || p.Rollout != nil) && !unchanged(before, p) {
			return p, changedMeanwhile("start a rollout", before, p)
		}
		return p.Start(spec, now)
	}); err != nil {
		return err
	}
	if s.format != outputText {
		return s.format.write(r.out, "", analysis)
	}
	return r.say("started (primacy rollout status -w shows how it goes)")
}

// givesTime says whether a step gives the checks time to see how the work of the canary goes.
func givesTime(s rollout.Step) bool { return s.Pause != nil || s.Analysis != nil }

// withEnd adds the other way out to the refusal of a canary that an earlier rollout blocks.
func withEnd(err error, p rollout.Plan, canary string) error {
	var no *rollout.Refused
	if !errors.As(err, &no) || p.Rollout == nil || p.Rollout.Canary != canary || !p.Phase().Blocks() {
		return err
	}
	return &rollout.Refused{Word: no.Word, Problem: no.Problem, Hint: no.Hint + "; primacy rollout end ends it, and then another one may start"}
}

// newUID is a random name for a rollout.
func newUID() string {
	var b [8]byte
	_, _ = io.ReadFull(rand.Reader, b[:]) // never fails: without randomness the process would end
	return hex.EncodeToString(b[:])
}

// blockedIn returns the canary that the plan's last rollout took back; empty if none.
func blockedIn(p rollout.Plan) string {
	if p.Rollout == nil || !p.Phase().Blocks() {
		return ""
	}
	return p.Rollout.Canary
}

// stableOf is the revision that the rollout moves from: the default if all members see the same, unless it is blocked,
// else the only revision beside the canary that leads elections.
func stableOf(r status.Report, moves []status.Election, canary, blocked string) (string, error) {
	var defaults, leaders []string
	for _, m := range r.Members {
		if byDefault := defaultOf(m); m.State == status.Live && !slices.Contains(defaults, byDefault) {
			defaults = append(defaults, byDefault)
		}
	}
	if len(defaults) == 1 && defaults[0] != canary && defaults[0] != blocked && slices.ContainsFunc(r.Members, func(m status.Member) bool { return m.Revision == defaults[0] }) {
		return defaults[0], nil
	}
	if len(defaults) == 1 && defaults[0] == canary {
		return "", &usageError{fmt.Errorf("revision %s is the default already, so it is no canary (name the revision to move to with --canary; if %s is to come back, name both: --canary %s --stable REVISION)", canary, canary, canary)}
	}
	for _, e := range moves {
		if view.Led(e) && e.Revision != canary && e.Revision != blocked && !slices.Contains(leaders, e.Revision) {
			leaders = append(leaders, e.Revision)
		}
	}
	switch len(leaders) {
	case 0:
		return "", &usageError{errors.New("which revision is the stable one? no election is led by a revision that is neither the canary nor blocked (name the stable revision with --stable)")}
	case 1:
		return leaders[0], nil
	}
	slices.Sort(leaders)
	return "", &usageError{fmt.Errorf("which revision is the stable one? elections are led by %s (name the stable revision with --stable)", strings.Join(leaders, ", "))}
}

// usualLease is the lease duration to assume if no live session states one.
const usualLease = 15 * time.Second

// leaseDuration is the longest lease duration of the live sessions.
func leaseDuration(r status.Report) time.Duration {
	longest := time.Duration(0)
	for _, m := range r.Members {
		if m.State == status.Live {
			longest = max(longest, m.Duration)
		}
	}
	if longest == 0 {
		return usualLease
	}
	return longest
}

// seenOf converts a report for package rollout.
func seenOf(group string, plan rollout.Plan, r status.Report, canary string, known rulebook) rollout.Seen {
	seen := rollout.Seen{Own: controller.ElectionName(group)}
	for _, m := range r.Members {
		if m.State == status.Live {
			seen.Members = append(seen.Members, rollout.Member{Identity: m.Identity, Revision: m.Revision, Ready: m.Ready})
		}
	}
	for _, e := range r.Elections {
		x := known.rules(e.Name)
		if x.onlyRevision != "" {
			continue // each revision has its own such election
		}
		one := rollout.Election{Name: e.Name}
		if !priority.FollowsRevision(x.policy) {
			one.Follows = rollout.Ignores
		}
		if view.Led(e) {
			one.Holder, one.Revision = e.Holder, e.Revision
		}
		_, one.Pinned = plan.Pin(e.Name)
		if next := x.canarys(r, e, plan, canary); next != nil {
			one.Canary = next[0].Identity
		}
		seen.Elections = append(seen.Elections, one)
	}
	return seen
}

// afterwards is the state seen, changed by the moves that the start of a rollout makes at once.
func afterwards(seen rollout.Seen, atOnce []movement, stable string) rollout.Seen {
	seen.Elections = slices.Clone(seen.Elections)
	for i, e := range seen.Elections {
		for _, m := range atOnce {
			if m.Election == e.Name && !m.Stays && !e.Pinned {
				seen.Elections[i].Holder, seen.Elections[i].Revision = m.Candidates[0], stable
			}
		}
	}
	return seen
}

// alive refuses a revision without a live member, and a canary without a ready member.
func alive(spec rollout.Spec, seen rollout.Seen) error {
	var known []string
	ready := false
	for _, m := range seen.Members {
		if !slices.Contains(known, m.Revision) {
			known = append(known, m.Revision)
		}
		ready = ready || m.Revision == spec.Canary && m.Ready
	}
	slices.Sort(known)
	for _, revision := range []string{spec.Canary, spec.Stable} {
		if slices.Contains(known, revision) {
			continue
		}
		hint := "none lives; primacy status tells more"
		if len(known) > 0 {
			hint = "there are " + strings.Join(known, ", ")
		}
		if near := strict.Nearest(revision, known); near != "" {
			hint = "did you mean " + near + "?"
		}
		return fmt.Errorf("cannot start a rollout: no member of revision %q lives (%s)", revision, hint)
	}
	if !ready {
		return fmt.Errorf("cannot start a rollout: no member of revision %q is ready (wait until one is; primacy status tells)", spec.Canary)
	}
	return nil
}
