package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// word is something that an operator says to a rollout.
type word struct {
	use, short, long string
	// what happens to leadership, such as "2 elections go back to 1-9-0"; empty if nothing
	// moves.
	moves func(rollout.Plan, status.Report) string
	// obey is the plan after it.
	obey func(rollout.Plan) (rollout.Plan, error)
	// done is said afterwards.
	done string
}

func newRolloutWords() []*cobra.Command {
	promote := word{
		use: "promote", short: "Go on to the next step without waiting",
		long: `Go on to the next step without waiting any longer: for the time of a pause or of an
analysis, or for elections that are on their way. With --full all steps but the last are
passed.`,
		moves: goesOn, obey: believed(rollout.Plan.PromoteStep), done: "goes on to the next step",
	}
	full := promote
	full.moves = func(p rollout.Plan, _ status.Report) string {
		return fmt.Sprintf("all elections will move to %s", p.Rollout.Canary)
	}
	full.obey, full.done = believed(rollout.Plan.PromoteFull), "goes on to its last step"
	return []*cobra.Command{
		promote.command(&full),
		word{
			use: "pause", short: "Hold the rollout where it is",
			long: `Hold the rollout where it is. What has moved stays where it is; nothing more moves until
"resume" or "promote".`,
			obey: rollout.Plan.Pause, done: "is held where it is",
		}.command(nil),
		word{
			use: "resume", short: "Go on after pause",
			long:  `Go on after "pause".`,
			moves: goesOn, obey: rollout.Plan.Resume, done: "goes on",
		}.command(nil),
		word{
			use: "abort", short: "Take every election back to the stable revision, at once",
			long: `Take every election back to the stable revision, at once. This is one field, which each
member obeys by itself: no controller needs to be alive, and the status of the rollout
need not be readable. The canary is blocked from then on, until "retry".`,
			moves: goBack, obey: rollout.Plan.Abort, done: "is aborted: every election goes back",
		}.command(nil),
		word{
			use: "retry", short: "Begin anew after an abort or a rollback, or go on in spite of failures",
			long: `Begin the rollout anew at its first step, after it was aborted or rolled back, or where its
status cannot be read. Where failures paused it (Degraded), go on in spite of them.`,
			moves: goesOn, obey: rollout.Plan.Retry, done: "is tried again",
		}.command(nil),
		newRolloutUndo(),
	}
}

// command is the word as a command; full is what --full makes of it, nil for no such flag.
func (w word) command(full *word) *cobra.Command {
	c := &cobra.Command{Use: w.use, Short: w.short, Long: w.long, Args: noArguments}
	addSettings(c.Flags(), rolloutSettings...)
	dry := addDryRun(c.Flags())
	confirm := new(confirmation)
	if w.moves != nil {
		confirm = newConfirmation(c.Flags())
	}
	all := false
	if full != nil {
		c.Flags().BoolVar(&all, "full", false, "pass all steps but the last")
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		said := w
		if all {
			said = *full
		}
		return runRollout(c, func(ctx context.Context, r *rolloutCommand) error {
			return r.obey(ctx, said, confirm, bool(*dry))
		})
	}
	return c
}

// obey asks, then stores what the word says.
func (r *rolloutCommand) obey(ctx context.Context, w word, confirm *confirmation, dry bool) error {
	stored, err := r.load(ctx)
	if err != nil {
		return err
	}
	next, err := w.obey(stored.Plan)
	if err != nil {
		return explainBroken(err, stored.Mistakes)
	}
	if w.moves != nil {
		what := "leadership will move"
		if report, err := r.look(ctx); err == nil {
			what = w.moves(stored.Plan, report)
		} else { // it is for people, and must not keep anybody from aborting
			fmt.Fprintf(r.notes, "who leads what is not known: %v\n", err)
		}
		if dry {
			return r.say("%s; nothing was changed (--dry-run)", what)
		}
		if err := confirm.of(what); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("the rollout of %s from %s to %s", r.group, next.Rollout.Stable, next.Rollout.Canary)
	if dry {
		return r.say("%s %s; nothing was changed (--dry-run)", name, w.done)
	}
	if err := r.change(ctx, w.obey); err != nil {
		return err
	}
	return r.say("%s %s (primacy rollout status -w shows how)", name, w.done)
}

// explainBroken says what is broken in what is stored, where a word was refused.
func explainBroken(err, mistakes error) error {
	if mistakes == nil {
		return err
	}
	return fmt.Errorf("%w; what is stored: %s", err, oneLine(mistakes))
}

// oneLine is an error about what is stored, in which anybody may have written anything.
func oneLine(err error) string {
	return view.Printable(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// believed is a word that needs a status that a controller wrote.
func believed(obey func(rollout.Plan) (rollout.Plan, error)) func(rollout.Plan) (rollout.Plan, error) {
	return func(p rollout.Plan) (rollout.Plan, error) {
		if slices.Contains(p.Unreadable, rollout.KeyStatus) {
			return p, &rollout.Refused{
				Word: "go on", Problem: "the status of the rollout cannot be believed", Hint: "its controller writes it again; primacy rollout abort and retry work without it",
			}
		}
		return obey(p)
	}
}

// goesOn says that more moves to the canary.
func goesOn(p rollout.Plan, r status.Report) string {
	left := 0
	for _, e := range r.Elections {
		if e.Revision != p.Rollout.Canary {
			left++
		}
	}
	return fmt.Sprintf("the rollout goes on: %d of %d elections are not led by %s yet, and move to it step by step", left, len(r.Elections), p.Rollout.Canary)
}

// goBack says what an abort moves.
func goBack(p rollout.Plan, r status.Report) string {
	moved := 0
	for _, e := range r.Elections {
		if _, pinned := p.Pin(e.Name); !pinned && e.Revision == p.Rollout.Canary {
			moved++
		}
	}
	return fmt.Sprintf("%d of %d elections go back from %s to %s, at once", moved, len(r.Elections), p.Rollout.Canary, p.Rollout.Stable)
}
