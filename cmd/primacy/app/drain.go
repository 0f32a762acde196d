package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

func newDrain() *cobra.Command {
	undo, waits := false, false
	c := &cobra.Command{
		Use:   "drain MEMBER",
		Short: "Keep a member out of all elections until that is undone",
		Long: `Keep a member out of all elections of its group: it hands over what it leads to other members, and
no election prefers it, whatever its revision and whatever is pinned to it. MEMBER is the name of its
Pod or host, and stands for all its incarnations: a restart changes nothing. --undo ends it.

A drained member still takes a free lock that no other member takes. So if all members are drained,
elections are led as if none were.

The member leads on until others take over, after preemptDelay and minHold of each election. --wait waits
until it leads nothing and others lead what it led. It ends at once if no other member can lead what is
left, and names that, or if no member of that name has a session. For elections whose locks are in other
namespaces it needs --config, and says so.
` + steerNeeds + `

Exit status: 0; 1 if that failed; 2 for a mistake in the command line, or if nobody could be asked; 3 if
--wait waited in vain; 4 if what --wait waits for will not come by itself. The drain is stored in both of
the last.`,
		Example: `  primacy drain edge-1 --wait
  primacy drain edge-1 --undo`,
		Args: oneMember,
	}
	ways := addSteerWays(c.Flags())
	c.Flags().BoolVar(&undo, "undo", false, "let the member take part again")
	c.Flags().BoolVar(&waits, "wait", false, "wait until the member leads nothing")
	timeout := patienceFlag(c.Flags(), time.Minute)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkPatience(c.Flags(), *timeout); err != nil {
			return err
		}
		if undo && waits {
			return &usageError{errors.New("--wait: with --undo there is nothing to wait for")}
		}
		if !waits {
			*timeout = 0
		}
		member := hostNamed(args[0])
		drain := rollout.Drain{Member: member, At: rollout.At(time.Now())}
		return ways.steer(c, func(ctx context.Context, s *steerCommand) error {
			if undo {
				return s.undrain(ctx, member)
			}
			drain.By = operator(ctx, s.cluster)
			return s.drain(ctx, drain, *timeout)
		})
	}
	return c
}

// drain keeps a host's members out, and waits for so long until they lead nothing; it does not wait if that is zero.
func (s *steerCommand) drain(ctx context.Context, d rollout.Drain, timeout time.Duration) error {
	what := "drain " + d.Member
	if before, is := s.plan.DrainOfHost(d.Member); is {
		what += " (" + view.Drained(before) + " already)"
	}
	change := func(p rollout.Plan) (rollout.Plan, error) { return p.Drain(d) }
	if timeout == 0 {
		return s.changePlan(ctx, what, s.drainWarnings(d.Member), change)
	}
	until := aftermath{within: timeout, warnsFirst: true, wait: func(ctx context.Context, stored rollout.Plan) error {
		return s.untilEmpty(ctx, d.Member, stored, timeout)
	}}
	return s.changePlanUntil(ctx, what+" and wait until it leads nothing", s.drainWarnings(d.Member), change, until)
}

func (s *steerCommand) undrain(ctx context.Context, member string) error {
	return s.changePlan(ctx, "undo the drain of "+member, append(s.mayMoveUnseen(), s.divided()...), func(p rollout.Plan) (rollout.Plan, error) { return p.Undrain(member) })
}

func oneMember(c *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return &usageError{fmt.Errorf("want one member, got %d arguments (%s --help says more)", len(args), c.CommandPath())}
}

// hostNamed is the host of a member, which a person names by its host or by an identity.
func hostNamed(member string) string {
	if record.OurForm(member) {
		return record.HostOf(member)
	}
	return member
}

// drainWarnings lists what speaks against draining a member.
func (s *steerCommand) drainWarnings(member string) (all []string) {
	lives, left, drainedToo := false, false, false
	for _, m := range s.report.Members {
		if m.Group != s.group || m.State != status.Live {
			continue
		}
		_, drained := s.plan.DrainOf(m.Identity)
		switch {
		case record.HostOf(m.Identity) == member:
			lives = true
		case !m.Ready:
		case drained:
			drainedToo = true
		default:
			left = true
		}
	}
	if _, is := s.plan.DrainOfHost(member); is {
		return nil // nothing changes
	}
	if deserted := s.deserted(); deserted != nil {
		return deserted
	}
	if !lives {
		all = append(all, fmt.Sprintf("no member %s of group %s lives; it will be kept out once it starts", member, s.group))
	}
	switch {
	case left:
	case drainedToo:
		all = append(all, "all other members that are ready are drained, too, so elections are led as if none were")
	default:
		all = append(all, "no other member is ready, so this one goes on to lead until another one is")
	}
	return slices.Concat(all, s.mayMoveUnseen(), s.divided())
}
