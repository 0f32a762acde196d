package member

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/machine"
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
	Timing      record.Timing
	Policy      priority.Policy
	Bootstrap   machine.Bootstrap
	Foreign     machine.Foreigners
	Range       bool
	Outage      machine.Outage
	Renewal     record.Renewal

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

// Preference says which revision should lead which election at one moment. It does not
// change.
type Preference interface {
	// Digest stands for everything from which For follows.
	Digest() string
	// For is what is preferred for the election of that name.
	For(election string) record.Preferred
}

// Leader is who holds an election's lock, as this member last saw it.
type Leader struct {
	// Identity is empty while nobody is known to hold the lock.
	Identity string
	Revision string
	Location record.Location
	Token    record.Token
}

// Config is what does not change about a Member.
type Config struct {
	// Group names the members that share elections and a directory.
	Group string
	// Host is the Pod's or host's name, of which its session is made.
	Host            string
	Identity        string
	Revision        string
	Location        record.Location
	Weight          int
	Version         string // of the program, which the others are told
	Timing          record.Timing
	WritesPerSecond float64
	Chance          [2]uint64 // seeds all that is left to chance
	Heritage        Heritage
}

// Heritage is what one incarnation leaves to the next.
type Heritage struct {
	// Pause is how long the next one is to wait until it begins: sessions that are lost as soon
	// as they are made must not be made in a loop.
	Pause time.Duration
	// short counts the incarnations in a row that lived for less than a lease.
	short int
	// notBefore is the earliest instant at which it takes anything.
	notBefore record.Instant
	// saw is whether its beats came back in time: a member that sees too late still does.
	saw sight
	// hushed is whether it was told that the watch is silent.
	hushed bool
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

// WriteTimeout is how long one request may take before its outcome counts as unknown.
func WriteTimeout(t record.Timing) time.Duration {
	return min(max(t.RenewInterval, time.Second), 5*time.Second)
}
