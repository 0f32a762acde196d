package status

import (
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Transition is one line of a lock's history.
type Transition struct {
	At  time.Time `json:"at"`
	Who string    `json:"who"`
	Why string    `json:"why"`
}

// Equal says whether two transitions are the same.
func (t Transition) Equal(o Transition) bool {
	return t.At.Equal(o.At) && t.Who == o.Who && t.Why == o.Why
}

func historyOf(r *record.Record) (all []Transition) {
	for _, h := range r.History {
		all = append(all, Transition{h.When, clean(h.Who), cleanText(h.Why)})
	}
	return all
}

// Waits are the settings of an election that say how long members wait for others. The API does not show them. The zero
// Waits says nothing: then FreeBy knows only what members publish.
type Waits struct {
	// Timing has the election's leaseDuration and drift.
	Timing record.Timing
	// Foreign is what the configuration says of electors that are not Primacy: election.Foreigners.
	Foreign machine.Foreigners
	// OnDeathLease: members leave the lock of a holder that was proved dead alone for a lease.
	OnDeathLease bool
}

// FreeBy is when members may take the lock of an election at the latest, if they keep watching and nobody writes the
// lock until then. For a claim, it is when the elector that is not Primacy has certainly stopped. Zero: they
// may take the lock now, or nobody can tell.
//
// Members count these waits from their own sight of the lock, on clocks of their own (rules observers-clock,
// unknown-is-waited-out and claim-and-wait), or from an earlier sight of its absence (rule absence-counts). FreeBy counts from times in the records, so it is exact only
// as far as the clocks of writer and reader agree. A wait whose beginning no record shows counts from the report.
func (r Report) FreeBy(e Election, w Waits) time.Time {
	t := r.observer(e.Group, w.Timing)
	wait := max(t.LeaseDuration, e.lasts)
	switch e.State {
	case Led:
		return e.Renewed.Add(t.ObserverWait(e.lasts))
	case Released:
		if w.OnDeathLease && !e.died.IsZero() {
			return e.died.Add(t.ObserverWait(wait))
		}
	case Foreign:
		if e.lasts > record.MaxLeaseDuration {
			return time.Time{} // members do not wait out such a lock
		}
		return e.Renewed.Add(t.ObserverWait(wait))
	case Claiming:
		return e.Acquired.Add(t.ObserverWait(w.Foreign.StopsAfter(t.LeaseDuration, e.claimed)))
	case Waiting, Unowned, Corrupt:
		if w.Foreign.Sharing != machine.NotShared {
			wait = w.Foreign.WaitedOut(t.LeaseDuration, e.lasts)
		}
		return r.waitsSince(e).Add(t.ObserverWait(wait))
	}
	return time.Time{}
}

// waitsSince is since when members wait for a lock without an owner, at the latest. For a new lock that is its
// creation; a member that began later waits from then. No record shows when any other lock lost its owner.
func (r Report) waitsSince(e Election) time.Time {
	if e.State != Waiting || e.Acquired.IsZero() {
		return r.At
	}
	first := r.At
	for _, m := range r.Members {
		if m.Group == e.Group && m.State == Live && !m.Since.IsZero() && m.Since.Before(first) {
			first = m.Since
		}
	}
	if e.Acquired.Before(r.At) && e.Acquired.After(first) {
		return e.Acquired
	}
	return first
}

// observer is the timing by which the members of a group wait for each other: with the longest lease and the largest
// drift that any of them publishes.
func (r Report) observer(group string, own record.Timing) record.Timing {
	if own.Drift == 0 {
		own.Drift = record.DefaultDrift
	}
	for _, m := range r.Members {
		if m.Group == group && m.State != Ended {
			own = own.Among(record.Bounds{LeaseDuration: max(m.Duration, m.says.Longest()), Drift: m.Drift})
		}
	}
	return own
}

// Meaning explains a word of the transition; empty if it explains itself.
func (t Transition) Meaning() string {
	_, word, _ := strings.Cut(t.Why, ": ")
	switch word {
	case machine.Free.String():
		return "nobody held the lock"
	case machine.Mine.String():
		return "it held the lock already, and began another term"
	case machine.Other.String():
		return "the last holder no longer renewed the lock"
	case machine.Orphaned.String():
		return "the last holder's session had ended"
	case machine.Foreign.String():
		return "an elector that is not Primacy held the lock"
	case machine.Unowned.String():
		return "no owner of the lock was known: it was new, or members had waited that out"
	}
	return ""
}

// FailedAt is when a member last released the lock because its work had failed, as far as the lock's history goes.
func (e Election) FailedAt(identity string) (at time.Time) {
	for _, t := range e.History {
		if _, why, _ := strings.Cut(t.Why, ": "); t.Who == identity && why == string(machine.ReasonFailed) {
			at = t.At
		}
	}
	return at
}
