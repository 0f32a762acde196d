package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

func newHandover() *cobra.Command {
	var to string
	var timeout time.Duration
	var force bool
	c := &cobra.Command{
		Use:   "handover ELECTION",
		Short: "Move an election to another member, once",
		Long: `Move an election to another member, once, and wait until that member leads. --to names the member by
its Pod or host; without it the move goes to the member that would be next.

Until then the election prefers that member, as if it were pinned to it. Afterwards, or after --timeout,
it follows pins, the rollout and the default again; if the new holder is outranked then, the election
moves back, and the output says so. What is stored ends by itself soon after --timeout, even if this command dies.

A holder that does not see what is stored gives way to nobody. With --force the command writes the
member's name into the lock itself, which each holder watches. The holder then stops its work and
hands over to that member, if the member is ready. It waits neither for preemptDelay nor for minHold,
and a pause does not keep it, unless takeovers are paused, too. If the election has not moved after
--timeout, the command takes its request back; a request that another command made before stays. If the
command dies before, the request stays until the term or the member ends; --force --to HOLDER takes it
back. With --force it also needs get and update on the lock, and leaves the ConfigMap as it is.
` + steerNeeds + `

Exit status: 0 when the member leads; 1 when that failed; 2 for a mistake in the command line, or if
nobody could be asked; 3 if the member did not lead within --timeout; 4 if it cannot: it is drained,
does not live or takes no part, or the group is paused; with --force, if no member of Primacy leads.
Nothing is changed then.`,
		Example: `  primacy handover ingress-status
  primacy handover ingress-status --to edge-2 --timeout 30s --yes
  primacy handover ingress-status --force`,
		Args: oneElection,
	}
	ways := addSteerWays(c.Flags())
	c.Flags().StringVar(&to, "to", "", "the member that should lead: the name of its Pod or host")
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait until it leads")
	c.Flags().BoolVar(&force, "force", false, "ask the holder through its lock, for one that does not see what is stored")
	c.RunE = func(c *cobra.Command, args []string) error {
		if timeout <= 0 {
			return &usageError{fmt.Errorf("--timeout %v (it must be more than 0)", timeout)}
		}
		return ways.steer(c, func(ctx context.Context, s *steerCommand) error {
			if force {
				return s.force(ctx, args[0], hostNamed(to), timeout)
			}
			return s.handover(ctx, args[0], hostNamed(to), timeout)
		})
	}
	return c
}

// outlasts is for how long a stored handover goes on after the command has given up, if that does not remove it. Else members
// would drop the handover just before, and the command would say that they never saw it.
const outlasts = 5 * time.Second

// handover moves an election to a member of the host `to`; to the member that is next if `to` is empty.
func (s *steerCommand) handover(ctx context.Context, election, to string, timeout time.Duration) error {
	s.selection.Elections = []string{election}
	e, err := electionNamed(s.report, election, s.namespace)
	if err != nil {
		return err
	}
	if to == "" {
		if to, err = s.afterHolder(e); err != nil {
			return err
		}
	}
	if record.HostOf(e.Holder) == to && view.Led(e) {
		return s.carryOut(ctx, effect{What: fmt.Sprintf("hand %s over to %s, which leads it already", election, to)}, func(context.Context) error { return nil })
	}
	h := rollout.Handover{Election: election, To: to, By: operator(ctx, s.cluster)}
	next, err := s.plan.HandOver(h)
	if err != nil {
		return s.broken(err)
	}
	byDefault := s.defaultSeen()
	f := s.compare(s.plan, byDefault, next, byDefault)
	f.What = fmt.Sprintf("hand %s over to %s", election, to)
	f.Warnings, f.waits = append(f.Warnings, s.handoverWarnings(e, to, f)...), true
	if back := s.backFrom(e, to, byDefault); back != "" {
		f.Notes = append(f.Notes, back)
	}
	if never := s.neverHandedOver(e, to, timeout); never != "" {
		if !bool(*s.ways.dry) {
			return &exitError{exitNever, fmt.Errorf("%s: %s; nothing was changed", f.What, never)}
		}
		if !slices.Contains(f.Warnings, never) {
			f.Warnings = append(f.Warnings, never)
		}
	}
	return s.carryOutFor(ctx, timeout+statusPatience, f, func(ctx context.Context) error {
		now := time.Now() // somebody may have taken a while to answer
		h.At, h.Until = rollout.At(now), rollout.At(now.Add(timeout+outlasts))
		var stored rollout.Plan
		if err := s.broken(s.edit(ctx, func(p rollout.Plan) (_ rollout.Plan, err error) {
			stored, err = p.HandOver(h)
			return stored, err
		})); err != nil {
			return err
		}
		err := s.untilReached(ctx, election, arrival{to, len(locksHeld(e))}, stored, timeout)
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), statusPatience)
		defer cancel()
		if undone := s.edit(tidy, func(p rollout.Plan) (rollout.Plan, error) { return p.HandedOver(h) }); undone != nil {
			fmt.Fprintf(s.notes, "warning: the handover stays stored until %s, when it ends by itself: %v\n", h.Until.Format(time.RFC3339), undone)
		}
		return err
	})
}

// edit changes the stored plan.
func (s *steerCommand) edit(ctx context.Context, change func(rollout.Plan) (rollout.Plan, error)) error {
	return steering.Edit(ctx, s.maps(), s.group, func(p *rollout.Plan) (err error) {
		*p, err = change(p.Kept(time.Now()))
		return err
	})
}

// untilReached waits until the handover has come about. On a failure it names the members that do not see the plan.
func (s *steerCommand) untilReached(ctx context.Context, election string, a arrival, plan rollout.Plan, timeout time.Duration) error {
	_, err := awaited(ctx, timeout, s.follow, func(r status.Report) (string, error) {
		if !r.AsOf.IsZero() {
			return view.Old(r.AsOf), nil
		}
		e, err := electionNamed(r, election, s.namespace)
		if err != nil {
			return err.Error(), nil
		}
		if done, short := a.reached(e); done || short != "" {
			return short, nil
		}
		missing := fmt.Sprintf("%s is %s, by %s (primacy explain %s says why)", election, e.State, cmp.Or(view.NameOf(e.Holder), "nobody"), election)
		if names := unhearing(r, s.group, plan); len(names) > 0 {
			missing += fmt.Sprintf("; not seen by %s: %s", strings.Join(names, ", "), deaf)
		}
		return missing, nil
	})
	return err
}

// afterHolder is the host of the member that would lead the election if its holder did not.
func (s *steerCommand) afterHolder(e status.Election) (string, error) {
	preferred := s.plan.Preferred(e.Name, s.defaultSeen())
	preferred.Paused = false
	hosts := []string{record.HostOf(e.Holder)}
	for _, d := range s.plan.Drained {
		hosts = append(hosts, d.Member)
	}
	preferred.Drained = record.HostsOf(hosts...)
	next := slices.DeleteFunc(s.rulebook.rules(e.Name).next(s.taking(e), e, preferred), func(m status.Member) bool { return preferred.Drains(m.Identity) })
	if len(next) == 0 {
		return "", errors.New("no other member is ready to lead " + e.Name + " (primacy explain " + e.Name + " says why)")
	}
	return record.HostOf(slices.MinFunc(next, func(a, b status.Member) int { return cmp.Compare(a.Identity, b.Identity) }).Identity), nil
}

// neverHandedOver says why a handover of an election to a host cannot come about within the timeout, whatever members do; empty if it can.
func (s *steerCommand) neverHandedOver(e status.Election, to string, timeout time.Duration) string {
	if stand := s.plan.Standstill; stand != nil && (stand.Until.IsZero() || stand.Until.After(time.Now().Add(timeout))) {
		return "the group is paused, so nothing moves (primacy resume first)"
	}
	if d, is := s.plan.DrainOfHost(to); is {
		return view.Drained(d) + ", so nothing moves to it (primacy drain " + to + " --undo first)"
	}
	m := s.living(to)
	if m.Identity == "" {
		return fmt.Sprintf("no member %s of group %s lives (primacy status lists the members)", to, s.group)
	}
	return s.outside(e, m)
}

// handoverWarnings lists what speaks against a handover.
func (s *steerCommand) handoverWarnings(e status.Election, to string, f effect) []string {
	all := s.warnings(e.Name)
	if d, is := s.plan.DrainOfHost(to); is {
		all = append(all, view.Drained(d)+", so nothing moves to it")
	}
	for _, m := range f.Elections {
		if m.Absent && !m.lacked {
			all = append(all, fmt.Sprintf("member %s is not ready to lead %s", to, e.Name))
		}
	}
	if s.plan.Standstill != nil {
		all = append(all, "the group is paused, so nothing moves")
	}
	return all
}

// backFrom says to whom an election goes back once the handover to a host is over; empty if it stays.
func (s *steerCommand) backFrom(e status.Election, to string, byDefault record.Preferred) string {
	m, among := s.living(to), s.taking(e)
	if m.Identity == "" {
		return ""
	}
	e.Holder, e.Revision, e.Location = m.Identity, m.Revision, m.Location
	back := s.rulebook.rules(e.Name).next(among, e, s.plan.Preferred(e.Name, byDefault))
	if len(back) == 0 {
		return ""
	}
	return fmt.Sprintf("after the handover %s moves on to %s, which outranks %s (primacy pin keeps it where it is)", e.Name, oneOf(back), to)
}
