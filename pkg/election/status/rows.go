package status

import (
	"cmp"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// OtherLock is a lock of an election besides the one that its row shows: the lock that the election
// migrates from, or one that it had.
type OtherLock struct {
	Ref
	State  State  `json:"state"`
	Holder string `json:"holder,omitempty"`
}

// seenLock is one lock object of an election.
type seenLock struct {
	Ref
	lock.Entry
	election string // as configured; empty if the lock is not configured
	// main: it is the election's lock by the configuration, not the one that it migrates from.
	main bool
	row  Election
}

// key is equal for the locks of one election.
func (l seenLock) key() any {
	type election struct{ group, name string }
	if l.election == "" && l.Record.Election == "" {
		return l.Ref // its election is unknown
	}
	return election{l.row.Group, l.row.Name}
}

// one makes the row of an election that has these locks: the row shows the first of them by rank. Of two
// locks with equal rank the one that was taken last comes first: in a migration a member takes the old
// lock before the new one.
func one(locks []seenLock) Election {
	slices.SortFunc(locks, func(a, b seenLock) int {
		return cmp.Or(
			cmp.Compare(a.rank(), b.rank()), b.row.Acquired.Compare(a.row.Acquired), cmp.Compare(a.Ref.String(), b.Ref.String()),
		)
	})
	row := locks[0].row
	for _, l := range locks[1:] {
		row.Others = append(row.Others, OtherLock{Ref{l.Kind, l.Ref.Namespace, clean(l.Ref.Name)}, l.row.State, l.row.Holder})
	}
	return row
}

// rank puts a lock that somebody holds first, then the configured one, then a Lease.
func (l seenLock) rank() (rank int) {
	if l.row.Holder == "" {
		rank += 4
	}
	if !l.main {
		rank += 2
	}
	if l.Kind != Lease {
		rank++
	}
	return rank
}

// besides returns notes on an election's other locks.
func (e Election) besides() (notes []string) {
	for _, o := range e.Others {
		name := o.Ref.String()
		switch {
		case o.State == Led && e.State == Led && o.Holder == e.Holder:
			notes = append(notes, "migrates: holds "+name+" as well")
		case o.Holder != "":
			notes = append(notes, name+", its other lock, is held by "+o.Holder)
		case o.State == Corrupt || o.State == Unowned || o.State == Waiting:
			notes = append(notes, name+", its other lock, is "+string(o.State))
		case e.migrates:
			notes = append(notes, "migrates: "+name+" is "+string(o.State))
		}
	}
	return notes
}
