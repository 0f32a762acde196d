package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// emptied waits until the drained members of a host lead nothing, and others lead what they led.
type emptied struct {
	*steerCommand
	host string
	plan rollout.Plan
	// until is when the wait ends in vain.
	until time.Time
	// led are the elections that a member of the host led since the report before the drain.
	led map[string]bool
}

// untilEmpty waits until members of a host, which is drained, lead nothing.
func (s *steerCommand) untilEmpty(ctx context.Context, host string, plan rollout.Plan, timeout time.Duration) error {
	if _, err := awaited(ctx, timeout, s.follow, s.emptying(host, plan, timeout).unmet); err != nil {
		return fmt.Errorf("%s is drained, and %w", host, err)
	}
	return nil
}

// emptying begins a wait. It notes what the host led before the drain: of that, the host may release something before the
// first report of the wait.
func (s *steerCommand) emptying(host string, plan rollout.Plan, timeout time.Duration) *emptied {
	w := &emptied{s, host, plan, time.Now().Add(timeout), map[string]bool{}}
	for _, e := range s.report.Elections {
		if e.Group == s.group && w.holds(e) {
			w.led[e.Name] = true
		}
	}
	return w
}

// unmet says what members of the host still lead. It ends the wait if none of that will move.
func (w *emptied) unmet(r status.Report) (string, error) {
	if !r.AsOf.IsZero() {
		return view.Old(r.AsOf), nil
	}
	var leads, free []string
	stuck := 0
	for _, e := range r.Elections {
		if e.Group != w.group {
			continue
		}
		held := w.holds(e)
		w.led[e.Name] = w.led[e.Name] || held
		taken := e.State == status.Led || e.State == status.Foreign // electors that share the lock lead, too
		switch {
		case held:
			leads = append(leads, e.Name)
		case w.led[e.Name] && (e.Stale || !taken):
			free = append(free, e.Name)
		default:
			continue
		}
		late := taken && e.Stale && !held // its holder may renew it yet
		if !late && !w.movable(r, e) {
			stuck++
		}
	}
	if len(leads)+len(free) == 0 {
		return "", w.hidden(r)
	}
	if err := w.never(leads, free, stuck); err != nil {
		return "", err
	}
	var missing []string
	if leads != nil {
		missing = append(missing, w.host+" leads "+strings.Join(leads, ", "))
	}
	if free != nil {
		missing = append(missing, "nobody leads "+strings.Join(free, ", "))
	}
	if names := unhearing(r, w.group, w.plan); len(names) > 0 {
		missing = append(missing, fmt.Sprintf("not seen by %s: %s", strings.Join(names, ", "), deaf))
	}
	return strings.Join(missing, "; "), nil
}

// never says why nothing of what is missing will come; nil if some of it may. stuck is how many of these elections no other
// member can lead.
func (w *emptied) never(leads, free []string, stuck int) error {
	if stand := w.plan.Standstill; stand != nil && (stand.Until.IsZero() || stand.Until.After(w.until)) && leads != nil {
		return &exitError{exitNever, fmt.Errorf("goes on to lead %s: the group is paused, so nothing moves (primacy resume)", strings.Join(leads, ", "))}
	}
	if stuck < len(leads)+len(free) {
		return nil
	}
	const nobody = "no other member that may lead it is ready and not drained (primacy explain %s says why)"
	var never []string
	if leads != nil {
		never = append(never, fmt.Sprintf("goes on to lead %s: "+nobody, strings.Join(leads, ", "), leads[0]))
	}
	if free != nil {
		never = append(never, fmt.Sprintf("nobody leads %s, and "+nobody, strings.Join(free, ", "), free[0]))
	}
	return &exitError{exitNever, errors.New(strings.Join(never, "; "))}
}

// hidden says which elections the members may lead unseen; nil if there are none.
func (w *emptied) hidden(r status.Report) error {
	ofHost := func(m status.Member) bool { return m.Group == w.group && record.HostOf(m.Identity) == w.host }
	if !slices.ContainsFunc(r.Members, ofHost) {
		return &exitError{exitNever, fmt.Errorf("no member of that name has a session in group %s, so what it leads is not known (primacy status lists the members)", w.group)}
	}
	if names := w.unseen(r); len(names) > 0 {
		return &exitError{exitNever, fmt.Errorf("may lead more: who leads %s is not seen (this user may not read the locks)", strings.Join(names, ", "))}
	}
	if places := notLooked(r, ofHost); places != nil {
		return &exitError{exitNever, fmt.Errorf("may lead more: its elections whose locks are in namespace %s are not seen (-f FILE, the configuration of the members, looks there)",
			strings.Join(places, ", "))}
	}
	return nil
}

// holds says whether a member of the host holds a lock of the election.
func (w *emptied) holds(e status.Election) bool {
	return record.HostOf(e.Holder) == w.host || slices.ContainsFunc(e.Others, func(o status.OtherLock) bool { return record.HostOf(o.Holder) == w.host })
}

// movable says whether a member that is not drained could lead the election.
func (w *emptied) movable(r status.Report, e status.Election) bool {
	return w.rulebook.rules(e.Name).has(r, e, func(m status.Member) bool {
		_, drained := w.plan.DrainOf(m.Identity)
		return !drained && record.HostOf(m.Identity) != w.host
	})
}
