package app

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

func newRolloutUndo() *cobra.Command {
	c := &cobra.Command{
		Use:   "undo",
		Short: "Go back to the revision before the last completed rollout, at once",
		Long: `Go back to the revision that led before the last completed rollout: a rollout of its own,
with one step, 100 %. If its checks find failures, it pauses; it is not rolled back.

To go back from a rollout that is still going on, use abort.`,
		Args: noArguments,
	}
	f := c.Flags()
	addSettings(f, groupSettings...)
	dry, format, confirm := addDryRun(f), addOutput(f), newConfirmation(f)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return runRollout(c, func(ctx context.Context, r *rolloutCommand) error {
			stored, err := r.load(ctx)
			if err != nil {
				return err
			}
			spec, err := undoing(stored.Plan)
			if err != nil {
				return err
			}
			return r.start(ctx, starting{spec: spec, dry: bool(*dry), format: *format, confirm: confirm})
		})
	}
	return c
}

var errNothingToUndo = errors.New("cannot undo: no rollout was completed (primacy rollout history lists them)")

// undoing is a rollout back to the revision before the last completed rollout.
func undoing(p rollout.Plan) (rollout.Spec, error) {
	spec := rollout.Spec{Steps: []rollout.Step{{SetWeight: 100}}, OnFailure: rollout.HoldOn, MaxConcurrentMoves: undoAtOnce}
	past := rolloutsOf(p)
	for i := len(past) - 1; i >= 0; i-- {
		switch past[i].Phase {
		case rollout.Complete, rollout.Promoted:
			spec.Stable, spec.Canary = past[i].Canary, past[i].Stable
			return spec, nil
		}
	}
	return spec, errNothingToUndo
}

// undoAtOnce is how many elections an undo moves at a time. The status names each of them, and a ConfigMap holds 1 MiB.
const undoAtOnce = 1_000
