package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// ID stands for an election of a host, which uses none twice. Those below zero are the
// Member's own.
type ID int

// Store stands for a place where locks are kept.
type Store struct {
	ID int
	// ByName: it is watched by name, and shows nothing else.
	ByName bool
}

// Own is the realm's own store, which holds the sessions.
var Own = Store{}

// LockRef names a lock object in a store.
type LockRef struct {
	Lock  string
	Locks Store
}

// Election is one to take part in. It does not change.
type Election struct {
	ID   ID
	Name string
	// Lock is the name of the lock object, and Locks where it is kept. MigrateFrom is the one
	// that the election had until now; nil where it does not migrate.
	Lock        string
	Locks       Store
	MigrateFrom *LockRef
	*Settings

	// Works: there is work to do during its terms.
	Works bool
	// Unready: as far as is known, the work could not be done.
	Unready bool
	// Before is how many terms earlier incarnations had.
	Before int
	// Ranges is what earlier incarnations know of its ranges, and goes on to be kept by this
	// one; nil without ranges.
	Ranges *Ranges
}

// Settings are what most elections have in common. Elections may share one value, so nobody writes to it.
type Settings struct {
	Timing    record.Timing
	Policy    priority.Policy
	Bootstrap machine.Bootstrap
	Foreign   machine.Foreigners
	Range     bool
	Outage    machine.Outage
	Renewal   record.Renewal
}

// lockName is a lock object.
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
