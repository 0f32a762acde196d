package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

func newPause() *cobra.Command {
	var lasts time.Duration
	var noTakeover bool
	c := &cobra.Command{
		Use:   "pause",
		Short: "Stop all planned moves of a group, for maintenance",
		Long: `Pause a group: no election moves to a better member, whether for a revision, a pin, a drain, a
weight, a location or a rollout. Takeovers go on: when a holder dies, stops, fails or leaves, another
member takes over at once. A rollout of the group stands still, with its checks. "handover --force"
moves an election all the same.

With --no-takeover nobody takes a lock either: whatever loses its leader is led by nobody until the
pause ends. So it needs --for.

The pause lasts until "resume", or with --for until that time has passed. Another pause replaces it.
All views say that the group is paused, by whom and until when.
` + steerNeeds,
		Example: `  primacy pause --for 2h
  primacy pause --for 10m --no-takeover
  primacy resume`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("unexpected argument %[1]q: a pause is for the whole group (primacy pin %[1]s --member HOLDER keeps one election where it is)", args[0])}
			}
			return nil
		},
	}
	ways := addSteerWays(c.Flags())
	c.Flags().DurationVar(&lasts, "for", 0, "when the pause ends by itself (0: never)")
	c.Flags().BoolVar(&noTakeover, "no-takeover", false, "let nobody lead what loses its leader, until the pause ends (needs --for)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if noTakeover && lasts == 0 {
			return &usageError{errors.New("--no-takeover: it needs --for, so that whatever loses its leader is led again (10m, for example)")}
		}
		if lasts < 0 || c.Flags().Changed("for") && lasts == 0 {
			return &usageError{errors.New("--for: it must be more than 0 (leave it out for a pause without an end)")}
		}
		stand, what := rollout.Standstill{At: rollout.At(time.Now()), NoTakeover: noTakeover}, "pause the group"
		if noTakeover {
			what += " without takeovers"
		}
		if lasts > 0 {
			stand.Until = rollout.At(stand.At.Add(lasts))
			what += " until " + stand.Until.Format(time.RFC3339)
		}
		return ways.steer(c, func(ctx context.Context, s *steerCommand) error {
			stand.By = operator(ctx, s.cluster)
			return s.pause(ctx, what, stand)
		})
	}
	return c
}

func (s *steerCommand) pause(ctx context.Context, what string, stand rollout.Standstill) error {
	warnings := s.deserted()
	if stand.NoTakeover {
		warnings = append(warnings, "what loses its leader is led by nobody until the pause ends")
	}
	if now := s.plan.Standstill; now != nil && (now.NoTakeover && !stand.NoTakeover || endsBefore(stand.Until, now.Until)) {
		what := "the pause"
		if now.NoTakeover {
			what += " without takeovers"
		}
		warnings = append(warnings, "it replaces "+what+view.Paused(*now))
	}
	return s.changePlan(ctx, what, warnings, func(p rollout.Plan) (rollout.Plan, error) {
		if until := stand.Until; !until.IsZero() && !time.Now().Before(until.Time) { // somebody thought about the question for long
			return p, &rollout.Refused{Word: "pause", Problem: "it would have ended at " + until.Format(time.RFC3339), Hint: "give a longer --for"}
		}
		return p.Stand(stand)
	})
}

// endsBefore says whether one end of a pause is before another; zero is no end.
func endsBefore(one, other rollout.Time) bool {
	return !one.IsZero() && (other.IsZero() || one.Before(other.Time))
}

func (s *steerCommand) resume(ctx context.Context) error {
	what, shown := "resume group "+s.group, s.stored.Plan.Standstill
	if shown != nil && s.plan.Standstill == nil {
		what += ", whose pause ended at " + shown.Until.Format(time.RFC3339) + " by this machine's clock"
	}
	return s.changePlan(ctx, what, append(s.mayMoveUnseen(), s.divided()...), func(p rollout.Plan) (rollout.Plan, error) {
		if now := p.Standstill; now != nil && (shown == nil || *now != *shown) {
			return p, &rollout.Refused{Word: "resume", Problem: "another pause has begun meanwhile" + view.Paused(*now), Hint: "look again: primacy status"}
		}
		return p.GoOn()
	})
}

func newResume() *cobra.Command {
	c := &cobra.Command{
		Use:   "resume",
		Short: "End the pause of a group",
		Long:  "End the pause of a group: elections move to better members again.\n" + steerNeeds,
		Args:  noArguments,
	}
	ways := addSteerWays(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		return ways.steer(c, func(ctx context.Context, s *steerCommand) error { return s.resume(ctx) })
	}
	return c
}
