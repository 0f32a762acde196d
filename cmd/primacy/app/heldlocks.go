package app

import (
	"cmp"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// heldLock is a lock of an election that its holder has, and the request to make in it.
type heldLock struct {
	status.Ref
	acquired time.Time
	request  election.ForcedHandover
}

// lastTakenFirst sorts the two locks that a holder has in a migration. It took the old one before the new one. The configuration says
// which is which: from is the old one; zero if unknown. Otherwise the times say it. A ConfigMap has whole seconds. In one
// and the same second we take the ConfigMap for the old one, since elections mostly move to Leases. Tokens do not tell: each
// lock has its own.
func lastTakenFirst(held []heldLock, from status.Ref) {
	old := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(held, func(a, b heldLock) int {
		at, before := a.acquired, b.acquired
		if a.Kind == status.ConfigMap || b.Kind == status.ConfigMap {
			at, before = at.Truncate(time.Second), before.Truncate(time.Second)
		}
		return cmp.Or(
			cmp.Compare(old(a.Ref == from), old(b.Ref == from)), before.Compare(at),
			cmp.Compare(old(a.Kind == status.ConfigMap), old(b.Kind == status.ConfigMap)),
		)
	})
}

// migratesFrom is the old lock of an election that migrates, by the configuration; zero if unknown.
func (s *statusCommand) migratesFrom(election string) status.Ref {
	for _, e := range s.selection.Expected {
		if e.Election == election {
			return e.MigrateFrom
		}
	}
	return status.Ref{}
}
