// Package locktest is the suite that every lock.Store passes, in memory and over the
// wire: what its contract promises, and what strangers' edits do to it.
//
//	func TestStore(t *testing.T) {
//		locktest.Run(t, func(t *testing.T) locktest.Realm { return newRealm(t) })
//	}
package locktest

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Realm is a realm under test, empty at first, with ways to change it without using its stores.
type Realm interface {
	// Store makes a new store of the realm.
	Store() lock.Store
	// Edit changes an object as a stranger would, and creates an absent one. It returns an
	// error if the realm refuses the result.
	Edit(name string, edit func(*codec.Object)) (record.Version, error)
	// Delete removes an object.
	Delete(name string) error
	// Raw returns an object as it is stored.
	Raw(name string) (codec.Object, error)
	// Cut breaks the watches of all stores. None comes back before mend is called.
	Cut() (mend func())
	// Forget prevents watches that are cut now from resuming: the realm forgets the events
	// that it would have to show.
	Forget() error
}

// Coarse is a Realm whose objects keep times in larger units than microseconds.
type Coarse interface {
	Realm
	Unit() time.Duration
}

// Keyless is a Realm whose stores leave holders' keys alone: a key in the annotation is a
// stranger's.
type Keyless interface {
	Realm
	KeyAnnotation() string
}

// Run runs the suite; each test gets a realm of its own.
func Run(t *testing.T, realm func(*testing.T) Realm) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Realm)
	}{
		{"Create", testCreate},
		{"CreateEmpty", testCreateEmpty},
		{"CreateWithAbsence", testCreateWithAbsence},
		{"Update", testUpdate},
		{"UpdateStale", testUpdateStale},
		{"UpdateWrongUID", testUpdateWrongUID},
		{"UpdateDeleted", testUpdateDeleted},
		{"UpdateRecreated", testUpdateRecreated},
		{"UpdateIdentical", testUpdateIdentical},
		{"Remove", testRemove},
		{"ConcurrentCreates", testConcurrentCreates},
		{"ConcurrentUpdates", testConcurrentUpdates},
		{"RevisionsRise", testRevisionsRise},
		{"GiveUp", testGiveUp},
		{"Refuse", testRefuse},

		{"Lock", testLock},
		{"Release", testRelease},
		{"Session", testSession},
		{"Times", testTimes},
		{"OthersSurvive", testOthersSurvive},
		{"OursVanish", testOursVanish},
		{"Claim", testClaim},
		{"HolderKey", testHolderKey},
		{"Hostile", testHostile},
		{"LongHandover", testLongHandover},

		{"WatchList", testWatchList},
		{"WatchOrder", testWatchOrder},
		{"WatchIdentical", testWatchIdentical},
		{"WatchGapless", testWatchGapless},
		{"WatchTwo", testWatchTwo},
		{"WatchResume", testWatchResume},
		{"WatchRelist", testWatchRelist},
		{"WatchHostile", testWatchHostile},
		{"WatchEnd", testWatchEnd},
		{"WatchNames", testWatchNames},
		{"WatchNamesConsistent", testWatchNamesConsistent},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, realm(t)) })
	}
}
