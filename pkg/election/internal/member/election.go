package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// ID identifies an election. A host uses no ID twice. IDs below zero are the Member's own.
type ID int

// Store identifies a place that keeps locks.
type Store struct {
	ID int32
	// Objects stands for the objects to which the store leads; zero for those of the realm's own store. Several stores may lead
	// to the same objects. Each contest has a Store or two, so it is kept small.
	Objects int16
	// ByName: a watch of this store must name the objects, and shows no others.
	ByName bool
	// Place is the namespace that it is in; empty for the realm's own, and for a store that is in none.
	Place string
}

// UntoldObjects is the Objects of a store that cannot tell to which objects it leads.
const UntoldObjects int16 = -1

// mayShare says whether the stores may lead to the same objects.
func (s Store) mayShare(o Store) bool {
	return s.Objects == o.Objects || s.Objects == UntoldObjects || o.Objects == UntoldObjects
}

// Own is the realm's own store, which holds the sessions.
var Own = Store{}

// LockRef names a lock object in a store.
type LockRef struct {
	Lock  string
	Locks Store
}

// Election is an election to take part in. It does not change, except for its Ranges.
type Election struct {
	ID   ID
	Name string
	// Lock is the name of the lock object, and Locks is its store. MigrateFrom is the lock
	// that the election had until now; nil if it does not migrate.
	Lock        string
	Locks       Store
	MigrateFrom *LockRef
	*Settings

	// Works: there is work to do during its terms.
	Works bool
	// Unready: the runner is not ready, as far as the host knows. Lacks says why.
	Unready bool
	// Before is how many terms earlier incarnations had.
	Before int32
	Lacks  string
	// Ranges is what earlier incarnations knew of the election's ranges. The present incarnation keeps it
	// up to date; nil without ranges.
	Ranges *Ranges
}

// Settings are what many elections have in common. Elections may share one value, so nobody writes to it.
type Settings struct {
	Timing    record.Timing
	Policy    priority.Policy
	Bootstrap machine.Bootstrap
	Foreign   machine.Foreigners
	Range     bool
	Outage    machine.Outage
	OnDeath   machine.OnDeath
	Renewal   record.Renewal
}

// lockName identifies a lock object.
type lockName struct {
	store Store
	name  string
}

func (e *Election) lockName() lockName { return lockName{e.Locks, e.Lock} }

// lockNames are all locks that the election uses.
func (e *Election) lockNames() []lockName {
	if e.MigrateFrom == nil {
		return []lockName{e.lockName()}
	}
	return []lockName{{e.MigrateFrom.Locks, e.MigrateFrom.Lock}, e.lockName()}
}
