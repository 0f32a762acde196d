package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// forcing is one forced handover: the holder of an election is asked to give way, whatever it sees of the preference.
type forcing struct {
	*steerCommand
	election status.Election
	// to is the host of the member that should lead, and nominee the member of it that lives; zero if none does.
	to      string
	nominee status.Member
	timeout time.Duration
	// asked are the requests, one for each lock of the election.
	asked []election.ForcedHandover
	// ours has the indexes in asked of the requests that we made. Another command made the rest before.
	ours map[int]bool
}

// force hands an election over to a member of the host `to` by a request in the record of its lock, where the holder sees it
// without any preference.
func (s *steerCommand) force(ctx context.Context, name, to string, timeout time.Duration) error {
	s.selection.Elections = []string{name}
	e, err := electionNamed(s.report, name, s.namespace)
	if err != nil {
		return err
	}
	f := forcing{steerCommand: s, election: e, to: to, timeout: timeout}
	switch {
	case to == record.HostOf(e.Holder) && view.Led(e):
		return f.keep(ctx)
	case to == "" && view.Led(e):
		if f.to, err = s.afterHolder(e); err != nil {
			return err
		}
	}
	f.nominee = f.living(f.to)
	what := f.effect()
	if never := f.never(); never != "" {
		if !bool(*s.ways.dry) {
			return &exitError{exitNever, fmt.Errorf("%s: %s; nothing was changed", what.What, never)}
		}
		what.Warnings = append(what.Warnings, never)
	}
	return s.carryOutFor(ctx, timeout+2*statusPatience, what, func(ctx context.Context) error {
		if err := f.ask(ctx); err != nil {
			return f.hint(err)
		}
		return f.wait(ctx)
	})
}

// keep takes back a request, since the holder is to go on.
func (f *forcing) keep(ctx context.Context) error {
	e := f.election
	if err := f.find(ctx); err != nil {
		return f.hint(err)
	}
	f.asked = slices.DeleteFunc(f.asked, func(one election.ForcedHandover) bool { return one.To == "" })
	if len(f.asked) == 0 {
		return f.carryOut(ctx, effect{What: fmt.Sprintf("hand %s over to %s, which leads it already", e.Name, f.to)}, func(context.Context) error { return nil })
	}
	what := effect{What: fmt.Sprintf("leave %s with %s, and no longer hand it over to %s by force", e.Name, f.to, view.NameOf(f.asked[len(f.asked)-1].To))}
	what.Notes = append(what.Notes, "if "+f.to+" has begun to stop its work, "+e.Name+" moves all the same")
	return f.carryOut(ctx, what, func(ctx context.Context) error {
		for _, one := range slices.Backward(f.asked) {
			if err := one.Withdraw(ctx); err != nil {
				return f.hint(err)
			}
		}
		return nil
	})
}

// never says why a forced handover cannot come about, whatever the holder does; empty if it can.
func (f *forcing) never() string {
	e, holder := f.election, view.NameOf(f.election.Holder)
	switch {
	case e.State == status.Foreign:
		return holder + ", which is not Primacy, holds the lock, and knows no handovers (stop it, or wait until members claim the lock)"
	case e.State == status.Claiming:
		return holder + " claimed the lock from an elector that is not Primacy, and does not work yet (wait until it leads)"
	case e.State == status.Led && e.Stale:
		return holder + " does not renew the lock, so it sees no request (members take the lock once its lease is over; primacy explain " + e.Name + " says when)"
	case e.State != status.Led:
		return "nobody is known to lead it, so nobody can hand it over (primacy explain " + e.Name + " says who takes it)"
	case f.plan.Standstill != nil && f.plan.Standstill.NoTakeover:
		return "the group is paused without takeovers, so nobody would take the lock (primacy resume first)"
	}
	if d, is := f.plan.DrainOfHost(f.to); is {
		return view.Drained(d) + ", so nothing moves to it (primacy drain " + f.to + " --undo first)"
	}
	if f.nominee.Identity == "" {
		return fmt.Sprintf("no member %s of group %s lives (primacy status lists the members)", f.to, f.group)
	}
	return f.outside(e, f.nominee)
}

// effect is what the handover does.
func (f *forcing) effect() effect {
	e, plan := f.election, f.plan
	prefers := plan.Preferred(e.Name, f.defaultSeen()).String()
	what := effect{What: fmt.Sprintf("hand %s over to %s by force", e.Name, cmp.Or(f.to, "another member")), waits: true}
	if view.Led(e) && f.nominee.Identity != "" {
		what.Elections = []movement{{Election: e.Name, Before: prefers, After: prefers, Holder: e.Holder, Candidates: []string{f.nominee.Identity}, Forced: true}}
	}
	switch {
	case f.nominee.Identity == "":
	case !f.nominee.Ready, !stands(f.nominee, e):
		what.Warnings = append(what.Warnings, fmt.Sprintf("member %s is not ready to lead %s, and the holder gives way only to one that is", f.to, e.Name))
	}
	if f.nominee.Identity != "" && f.outside(e, f.nominee) == "" && f.unlike(e, f.nominee) {
		warning := fmt.Sprintf("%s and %s do not have the same elections, and whether both have %s does not show. If %s does not, nobody leads %s for a moment",
			f.to, view.NameOf(e.Holder), e.Name, f.to, e.Name)
		if !f.rulebook.configured {
			warning += " (--config says whether that is for elections with scope: revision)"
		}
		what.Warnings = append(what.Warnings, warning)
	}
	if plan.Standstill != nil && !plan.Standstill.NoTakeover {
		what.Warnings = append(what.Warnings, "the group is paused. This move is made all the same")
	}
	if f.rulebook.rules(e.Name).shared() {
		what.Warnings = append(what.Warnings, "the lock is shared with electors that are not Primacy, and one of them may take it first")
	}
	if back := f.backTo(); back != "" {
		what.Notes = append(what.Notes, back)
	}
	if !f.rulebook.configured {
		what.Notes = append(what.Notes, unseen)
	}
	what.Notes = append(what.Notes, f.report.Notes...)
	return what
}

// backTo is backFrom among the members that see what the next holder sees: it hands over to no others.
func (f *forcing) backTo() string {
	s := *f.steerCommand
	s.report = s.taking(f.election)
	s.report.Members = slices.DeleteFunc(s.report.Members, func(m status.Member) bool { return m.Preference != f.nominee.Preference })
	return s.backFrom(f.election, f.to, s.defaultSeen())
}

// find lists the requests to make, or those that are there if no member is to lead next: one for each lock that the holder has. In a
// migration it has two, and the one that it took first decides (rule forced-handover). That one comes last, so that the other
// one names the same member when it is released.
func (f *forcing) find(ctx context.Context) error {
	e := f.election
	var held []heldLock
	for _, ref := range locksHeld(e) {
		locks := f.storeOf(ref)
		now, err := locks.Get(ctx, ref.Name)
		if err != nil {
			return err
		}
		if r := now.Record; r != nil && r.Holder == e.Holder {
			held = append(held, heldLock{ref, r.Acquired, election.ForcedHandover{Locks: locks, Lock: ref.Name, Holder: r.Holder, Token: r.Token, To: cmp.Or(f.nominee.Identity, r.HandoverTo)}})
		}
	}
	lastTakenFirst(held, f.migratesFrom(e.Name))
	for _, h := range held {
		f.asked = append(f.asked, h.request)
	}
	if len(f.asked) == 0 {
		return fmt.Errorf("%s: %w", e.Name, election.ErrTermOver)
	}
	return nil
}

// storeOf is the store that has the lock.
func (g *groupCommand) storeOf(ref status.Ref) lock.Store {
	if ref.Kind != status.ConfigMap {
		return g.leasesIn(ref.Namespace)
	}
	if ref.Namespace == "" {
		return g.realm.ConfigMaps
	}
	return g.realm.In(ref.Namespace).ConfigMaps
}

// ask makes the requests.
func (f *forcing) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	if err := f.find(ctx); err != nil {
		return err
	}
	err := f.press(ctx)
	if err != nil {
		f.withdraw(ctx)
	}
	return err
}

// press makes the requests that we have not made yet, unless another command made the same ones before.
func (f *forcing) press(ctx context.Context) error {
	if f.ours == nil {
		f.ours = map[int]bool{}
	}
	for i, one := range f.asked {
		if f.ours[i] {
			continue
		}
		ours, err := one.Ask(ctx)
		if ours {
			f.ours[i] = true
		}
		if err != nil && (i == 0 || !errors.Is(err, election.ErrTermOver)) {
			return err
		}
	}
	return nil
}

// insist makes our own requests once another command takes back the same ones that it made before us. It does not repeat a
// request of ours: a person may have taken it back.
func (f *forcing) insist(ctx context.Context, e status.Election) error {
	if len(f.ours) == len(f.asked) || !f.sameTerm(e) || !view.Led(e) || e.ForcedTo != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	if err := f.press(ctx); err != nil && !errors.Is(err, election.ErrTermOver) {
		return f.hint(err)
	}
	return nil
}

// sameTerm says whether the election is in the term that was asked to end.
func (f *forcing) sameTerm(e status.Election) bool {
	return slices.ContainsFunc(f.asked, func(one election.ForcedHandover) bool { return one.Holder == e.Holder && uint64(one.Token) == e.Token })
}

// withdraw takes our requests back, so that nothing moves later when nobody expects it.
func (f *forcing) withdraw(ctx context.Context) {
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), statusPatience)
	defer cancel()
	theirs := false
	for i, one := range slices.Backward(f.asked) { // the one that counts comes last
		if !f.ours[i] {
			now, err := one.Locks.Get(tidy, one.Lock)
			r := now.Record
			theirs = theirs || err == nil && r != nil && r.Holder == one.Holder && r.Token == one.Token && r.HandoverTo == one.To
			continue
		}
		if err := one.Withdraw(tidy); err != nil {
			fmt.Fprintf(f.notes, "warning: the request stays in the lock until the term or the member %s ends (primacy handover %s --force --to %s takes it back): %v\n",
				f.to, f.election.Name, record.HostOf(f.election.Holder), err)
		}
	}
	if theirs {
		fmt.Fprintf(f.notes, "warning: another command made the request before, and it stays (primacy handover %s --force --to %s takes it back)\n", f.election.Name, record.HostOf(f.election.Holder))
	}
}

// wait waits until the member leads. Otherwise it takes the request back.
func (f *forcing) wait(ctx context.Context) error {
	_, err := awaited(ctx, f.timeout, f.follow, func(r status.Report) (string, error) {
		if !r.AsOf.IsZero() {
			return view.Old(r.AsOf), nil
		}
		e, err := electionNamed(r, f.election.Name, f.namespace)
		if err != nil {
			return err.Error(), nil
		}
		if err := f.insist(ctx, e); err != nil {
			return "", err
		}
		return f.missing(e)
	})
	if err != nil {
		f.withdraw(ctx)
	}
	return err
}

// missing says why the handover has not come about; empty if it has. An error means that it will not.
func (f *forcing) missing(e status.Election) (string, error) {
	who := view.NameOf(e.Holder)
	done, short := arrival{f.to, len(f.asked)}.reached(e)
	switch leads := view.Led(e); {
	case done || short != "":
		return short, nil
	case leads && !f.sameTerm(e):
		return "", &exitError{exitTimeout, fmt.Errorf("%s is led by %s now: %s did not take it in time, or handed it on, or the term ended before (primacy history %s says more)", e.Name, who, f.to, e.Name)}
	case leads && e.ForcedTo == "":
		return fmt.Sprintf("%s has renewed the lock without the request, so it runs a version that does not know forced handovers, or somebody took the request back", who), nil
	case leads:
		return fmt.Sprintf("%s still leads: it is stopping its work (then the election moves all the same), or its log says why, or it is frozen or cut off (then others take the lock once its lease is over), or it runs a version that does not know forced handovers. Then restart it", who), nil
	}
	if e.State == status.Led {
		return fmt.Sprintf("%s does not renew the lock of %s (primacy explain %s says when others take it)", who, e.Name, e.Name), nil
	}
	return fmt.Sprintf("%s is %s (primacy explain %s says why)", e.Name, e.State, e.Name), nil
}

// hint says what to do if the request could not be written.
func (f *forcing) hint(err error) error {
	switch {
	case errors.Is(err, lock.ErrDenied):
		return fmt.Errorf("%w (it needs get and update on the lock; %s)", err, asMembers)
	case errors.Is(err, election.ErrTermOver):
		return fmt.Errorf("%w: %s has moved meanwhile (primacy status shows to whom)", err, f.election.Name)
	}
	return err
}
