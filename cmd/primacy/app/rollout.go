package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

func newRollout() *cobra.Command {
	c := &cobra.Command{
		Use:   "rollout",
		Short: "Move elections from one revision to another, step by step",
		Long: `Move the elections of a group from the stable revision to a canary, step by step, and
watch how that goes. One group has one rollout at a time. It is kept in a ConfigMap, so
these commands need get, list and watch on leases and configmaps, and update and create
on configmaps to change anything.

Before leadership moves they ask; without a terminal they want --yes.`,
		Example: `  primacy rollout start --canary 1-10-0 --weights 10,50,100 --pause 5m
  primacy rollout status -w
  primacy rollout promote              go on without waiting
  primacy rollout abort                take everything back, at once
  primacy rollout end                  afterwards: follow the default revision again`,
		Args: noCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newRolloutStart(), newRolloutStatus(), newRolloutHistory())
	c.AddCommand(newRolloutWords()...)
	return c
}

// rolloutCommand is one invocation of a command about the rollout of a group.
type rolloutCommand struct{ groupCommand }

// runRollout connects, finds the group, and runs a command until it ends or a signal comes.
func runRollout(c *cobra.Command, run func(context.Context, *rolloutCommand) error) error {
	return inGroup(c, func(ctx context.Context, g groupCommand) error {
		r := &rolloutCommand{g}
		if r.group == "" {
			report, err := r.look(ctx)
			if err != nil {
				return err
			}
			if r.group, err = onlyGroup(report, r.namespace); err != nil {
				return err
			}
			r.selection.Group = r.group
		}
		return run(ctx, r)
	})
}

// look reads who leads what now.
func (r *rolloutCommand) look(ctx context.Context) (status.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	report, err := status.Look(ctx, r.realm, r.selection)
	if err != nil {
		return report, r.failed(err)
	}
	return r.present(report), nil
}

// load reads the stored plan.
func (r *rolloutCommand) load(ctx context.Context) (steering.Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	stored, err := steering.Load(ctx, r.maps(), r.group)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("configmap %s in namespace %s: no answer within %v (is the API server overloaded? try again)", rollout.ObjectName(r.group), r.namespace, statusPatience)
	}
	stored.Plan = stored.Plan.At(time.Now())
	return stored, err
}

// change applies a word to the plan and stores the result.
func (r *rolloutCommand) change(ctx context.Context, word func(rollout.Plan) (rollout.Plan, error)) error {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	return steering.Edit(ctx, r.maps(), r.group, func(p *rollout.Plan) (err error) {
		*p, err = word(*p)
		return err
	})
}

// say prints a line for people.
func (r *rolloutCommand) say(format string, args ...any) error {
	_, err := fmt.Fprintf(r.out, format+"\n", args...)
	return err
}
