package member

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// watchingOwn is a member whose watch of the sessions has shown a list, and since then a lock with each of the names.
func watchingOwn(t *testing.T, names ...string) *naming {
	t.Helper()
	n := newNaming()
	n.s, n.cfg.Timing.LeaseDuration = n.streamOf(Own), 15*time.Second
	n.adds("a")
	n.wants(t, "watch []")
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.passes(2 * time.Second)
	for i, name := range names {
		n.shows(lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: name, Record: &record.Record{}, Version: record.Version{Revision: uint64(6 + i)}}})
	}
	return n
}

// listFails says whether the member knows that a list failed that it asked for.
func (n *naming) listFails() bool { return n.trouble.of[operation{"list anew", n.s.store}] != nil }

// TestTheWatchOfSessionsGoesOnUntilAListComes checks how the member has the sessions' store listed again: it asks for one list at a
// time, and for another one for what was added after that was requested.
func TestTheWatchOfSessionsGoesOnUntilAListComes(t *testing.T) {
	n := watchingOwn(t, "b", "c", "d")
	watch := n.s.watch
	n.adds("b")
	n.passes(time.Millisecond)
	n.adds("c")
	n.wants(t, "list anew")
	n.take(ListSent{Watch: watch, At: n.now})
	n.take(ListFailed{Watch: watch, Err: lock.ErrUnknown})
	if !n.listFails() {
		t.Error("a failing list is not told of")
	}
	n.passes(time.Second)
	n.take(ListSent{Watch: watch, At: n.now})
	n.passes(time.Millisecond)
	n.adds("d")
	n.shows(lock.Event{Kind: lock.Listed, Revision: 9})
	if n.listFails() {
		t.Error("a list that has come is told of as failing")
	}
	for name, want := range map[string]bool{"b": true, "c": true, "d": false} {
		if c := n.s.byLock[name]; c.listed != want {
			t.Errorf("%s is listed: %v", name, c.listed)
		}
	}
	n.wants(t)
	n.passes(time.Second)
	n.wants(t, "list anew")
	n.take(ListSent{Watch: watch, At: n.now})
	n.shows(lock.Event{Kind: lock.Listed, Revision: 10})
	if !n.s.byLock["d"].listed {
		t.Error("d is not listed")
	}
	n.take(ListFailed{Watch: watch, Err: lock.ErrUnknown})
	if n.listFails() {
		t.Error("a list that nobody waits for is told of as failing")
	}
	n.passes(2 * time.Second)
	n.wants(t)
	if n.s.watch != watch || n.ending != "" {
		t.Errorf("watch %d, want %d as ever; ending %q", n.s.watch, watch, n.ending)
	}
}

// TestASilentWatchWaitsForNoList checks that a watch that falls silent ends at once, although a list is awaited.
func TestASilentWatchWaitsForNoList(t *testing.T) {
	n := watchingOwn(t, "b")
	n.adds("b")
	n.wants(t, "list anew")
	n.passes(n.patience(n.s))
	n.wants(t, "end", "watch []")
	n.take(ListFailed{Watch: n.s.watch, Trial: n.s.trials, Err: lock.ErrUnknown})
	if n.listFails() {
		t.Error("the list of a watch that is over is told of")
	}
}

// TestAnElectionThatIsNotListedIsNoOffer checks that the session says that others go first in an election whose lock no list has shown
// yet, because lists fail.
func TestAnElectionThatIsNotListedIsNoOffer(t *testing.T) {
	n := watchingOwn(t, "b")
	says := func(want ...string) {
		t.Helper()
		if got := n.says().Standing; !slices.Equal(got, want) {
			t.Errorf("not in good standing for %q, want %q", got, want)
		}
	}
	n.adds("b")
	n.wants(t, "list anew")
	says()
	n.take(ListFailed{Watch: n.s.watch, Trial: n.s.trials, Err: lock.ErrUnknown})
	says("b")
	n.take(ListSent{Watch: n.s.watch, At: n.now})
	says("b")
	if got := n.says().Lacks; !slices.Equal(got, []record.Lack{{Election: "b", Why: record.NoList}}) {
		t.Errorf("lacks %v", got)
	}
	n.begin(n.s) // the list of the next watch fails, too
	n.wants(t, "end", "watch []")
	says("b")
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
	says("b")
	n.shows(lock.Event{Kind: lock.Listed, Revision: 9})
	says()
}

// TestAMoveToALockThatIsNotListedIsNoOffer checks that a member that moves an election to another lock is no offer for either lock until
// lists have shown both, and says once why.
func TestAMoveToALockThatIsNotListedIsNoOffer(t *testing.T) {
	n := watchingOwn(t, "old")
	apart := n.streamOf(Store{ID: 1, ByName: true})
	n.added++
	n.enter([]*Election{{ID: n.added, Name: "mv", Lock: "mv", Locks: apart.store, MigrateFrom: &LockRef{Lock: "old", Locks: Own}, Settings: &Settings{}}})
	outer, inner := n.s.byLock["old"], apart.byLock["mv"]
	stands := func(want bool) {
		t.Helper()
		for _, c := range []*contest{outer, inner} {
			if got := len(c.config().Member.Standing) == 0; got != want {
				t.Errorf("%s stands: %v", c.lock.name, got)
			}
		}
		lacks := []record.Lack{{Election: "mv", Why: record.NoList}}
		if want {
			lacks = nil
		}
		if says := n.says(); !slices.Equal(says.Lacks, lacks) {
			t.Errorf("lacks %v, want %v", says.Lacks, lacks)
		}
	}
	stands(true)
	n.watched(apart, lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown}, n.now)
	n.take(ListFailed{Watch: n.s.watch, Trial: n.s.trials, Err: lock.ErrUnknown})
	stands(false)
	n.take(ListSent{Watch: n.s.watch, At: n.now})
	n.shows(lock.Event{Kind: lock.Listed, Revision: 9})
	stands(false)
	n.watched(apart, lock.Event{Kind: lock.Listing}, n.now)
	n.watched(apart, lock.Event{Kind: lock.Listed, Revision: 9}, n.now)
	stands(true)
}

// TestNoListOfNoNamesFails checks that an election is on offer in a store whose lists failed, once the member watched no name there.
func TestNoListOfNoNamesFails(t *testing.T) {
	n := newNaming()
	n.adds("a")
	n.wants(t, "watch [a]")
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
	if says := n.says(); !slices.Equal(says.Standing, []string{"a"}) {
		t.Errorf("not in good standing for %q", says.Standing)
	}
	n.drop(n.s.byLock["a"])
	n.passes(2 * time.Second)
	n.begin(n.s)
	n.wants(t, "end", "watch []")
	n.passes(2 * time.Second)
	n.adds("b")
	n.wants(t, "end", "watch [b]")
	if says := n.says(); len(says.Standing) > 0 {
		t.Errorf("not in good standing for %q", says.Standing)
	}
}

// TestABrokenWholeWatchIsBegunAnew checks that a member does not wait for long to list beside a watch of a whole store that stays broken:
// such a list is shown only once the watch is open again.
func TestABrokenWholeWatchIsBegunAnew(t *testing.T) {
	n := newNaming()
	n.s = n.streamOf(Store{ID: 2})
	n.adds("a")
	n.wants(t, "watch []")
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
	n.passes(2 * time.Second)
	for range 3 { // steady additions do not put it off
		n.adds("b")
		n.wants(t)
		n.drop(n.s.byLock["b"])
		n.passes(400 * time.Millisecond)
	}
	n.wants(t, "end", "watch []")
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.passes(2 * time.Second)
	n.shows(lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: "c", Record: &record.Record{}, Version: record.Version{Revision: 6}}})
	n.adds("c")
	n.wants(t, "list anew")
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
	n.passes(2 * time.Second)
	n.wants(t, "end", "watch []")
}

// TestAWholeWatchThatGoesOnAtOnce checks that a member does not give up a watch of a whole store that breaks for a moment, as when the
// server ends it in its time: while lists fail the watch goes on from where it was, and one begun anew could not.
func TestAWholeWatchThatGoesOnAtOnce(t *testing.T) {
	n := newNaming()
	n.s = n.streamOf(Store{ID: 2})
	n.adds("a")
	n.wants(t, "watch []")
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.passes(2 * time.Second)
	n.shows(lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: "b", Record: &record.Record{}, Version: record.Version{Revision: 6}}})
	n.adds("b")
	n.wants(t, "list anew")
	n.take(ListFailed{Watch: n.s.watch, Err: lock.ErrUnknown})
	n.passes(5 * time.Minute)
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrEnded})
	n.passes(0)
	n.adds("c")
	n.wants(t)
	n.shows(lock.Event{Kind: lock.Resumed})
	n.passes(2 * time.Second)
	n.wants(t, "list anew")
}

// TestANameAddedDuringATrial checks that a watch of names begins anew with those that its trial had: lists of others may not pass.
func TestANameAddedDuringATrial(t *testing.T) {
	n := watchingA(t)
	n.adds("b")
	n.wants(t, "list anew [a b]")
	n.adds("c")
	n.passesTrial()
	n.wants(t, "end", "watch [a b]")
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.passes(2 * time.Second)
	n.wants(t, "list anew [a b c]")
	n.drop(n.s.byLock["a"])
	n.drop(n.s.byLock["b"])
	n.drop(n.s.byLock["c"])
	n.adds("d")
	n.passesTrial()
	n.wants(t, "end", "watch [d]")
}

// TestATrialBesideTheWatchsOwnList checks that a watch of names whose own list fails does not begin anew with names of which a trial goes
// on.
func TestATrialBesideTheWatchsOwnList(t *testing.T) {
	n := watchingA(t)
	n.adds("b")
	n.wants(t, "list anew [a b]")
	n.passes(2 * time.Second)
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
	n.shows(lock.Event{Kind: lock.Listing})
	n.passes(2 * time.Second)
	n.wants(t)
	n.passesTrial()
	n.wants(t, "end", "watch [a b]")
}

// TestATrialOfBefore checks that a member does not take the outcome of a trial for that of the next one.
func TestATrialOfBefore(t *testing.T) {
	n := watchingA(t)
	n.adds("bad")
	n.wants(t, "list anew [a bad]")
	n.drop(n.s.byLock["bad"])
	n.adds("b")
	before := n.s.trials
	n.take(ListFailed{Watch: n.s.watch, Trial: before, Err: lock.ErrUnknown})
	n.passes(2 * time.Second)
	n.wants(t, "list anew [a b]")
	n.take(ListPassed{Watch: n.s.watch, Trial: before})
	n.wants(t)
	n.passesTrial()
	n.wants(t, "end", "watch [a b]")
}

// TestALeavingMemberStaysNoOffer checks that a member that leaves does not look like a candidate again for an election that it drops, and
// whose lock no list has shown it.
func TestALeavingMemberStaysNoOffer(t *testing.T) {
	n := watchingOwn(t, "b")
	n.adds("b")
	n.wants(t, "list anew")
	n.take(ListFailed{Watch: n.s.watch, Err: lock.ErrUnknown})
	n.leave(machine.ReasonShutdown)
	n.settle()
	if n.s.byLock["b"] != nil {
		t.Fatal("b is not dropped")
	}
	if says := n.says(); !slices.Equal(says.Standing, []string{"b"}) {
		t.Errorf("not in good standing for %q", says.Standing)
	}
}

// TestALateTakeByName checks that a late take does not end a watch by name that shows other locks, too.
func TestALateTakeByName(t *testing.T) {
	n := newNaming()
	n.adds("a", "b")
	n.wants(t, "watch [a b]")
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.passes(2 * time.Second)
	b := n.s.byLock["b"]
	n.gone[b.lock] = gone{mayYetTake: true}
	b.listed = false
	n.shows(lock.Event{Kind: lock.Changed, Entry: lock.Entry{
		Name: "b", Version: record.Version{UID: "u", Revision: 7},
		Record: &record.Record{Holder: n.identity, Mark: &record.Mark{Identity: n.identity, Renewal: record.RenewalSession}},
	}})
	n.wants(t, "list anew [a b]")
}

// TestALeavingMemberWantsNoOtherNames checks that a member that leaves does not begin a broken watch anew for the names that remain.
func TestALeavingMemberWantsNoOtherNames(t *testing.T) {
	n := newNaming()
	n.adds("a", "b")
	n.wants(t, "watch [a b]")
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.passes(2 * time.Second)
	n.drop(n.s.byLock["b"])
	n.leaving = machine.ReasonShutdown
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
	n.passes(2 * time.Second)
	n.wants(t)
}

// TestManyElectionsThatAreNotListed checks that elections that no list has shown yet never make the member unready for all.
func TestManyElectionsThatAreNotListed(t *testing.T) {
	n := watchingOwn(t)
	names := make([]string, maxListed/100)
	for i := range names {
		names[i] = fmt.Sprintf("%0200d", i)
		n.shows(lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: names[i], Record: &record.Record{}, Version: record.Version{Revision: uint64(6 + i)}}})
	}
	n.adds(names...)
	n.take(ListFailed{Watch: n.s.watch, Trial: n.s.trials, Err: lock.ErrUnknown})
	got := n.says()
	if !got.Ready || n.crowded {
		t.Errorf("ready: %v, crowded: %v", got.Ready, n.crowded)
	}
	if listed := len(got.Standing); listed != maxListed/200 {
		t.Errorf("the session lists %d elections, want %d", listed, maxListed/200)
	}
	if len(got.Lacks) != record.MostLacks {
		t.Errorf("%d reasons", len(got.Lacks))
	}
}

// TestALateTakeOfAnElectionThatIsNotListed checks that the member answers for a take that is carried out after its election was
// given up and added again, while lists fail: without a list, only the end of the session frees the lock.
func TestALateTakeOfAnElectionThatIsNotListed(t *testing.T) {
	n := watchingOwn(t, "b")
	n.adds("b")
	n.wants(t, "list anew")
	b := n.s.byLock["b"]
	taken := lock.Entry{
		Name: "b", Version: record.Version{UID: "u", Revision: 7},
		Record: &record.Record{Holder: n.identity, Mark: &record.Mark{Identity: n.identity, Renewal: record.RenewalSession}},
	}
	n.shows(lock.Event{Kind: lock.Changed, Entry: taken})
	n.wants(t) // no take of ours may come late: it shows what we know
	delete(n.gone, b.lock)
	shared := lockName{Store{ID: 7, ByName: true, Objects: n.s.store.Objects}, "b"}
	n.knows(shared.store)
	n.gone[shared] = gone{mayYetTake: true}
	if !n.mayYetTake(b.lock) {
		t.Error("a take by another store of the same lock is forgotten")
	}
	delete(n.gone, shared)
	n.gone[b.lock] = gone{mayYetTake: true}
	n.drop(b)
	if !n.gone[b.lock].mayYetTake {
		t.Error("a take of unknown outcome is forgotten, although no list has shown the lock")
	}
	n.adds("b")
	n.wants(t)
	n.disowned[b.lock] = disowned{Disowned: record.Disowned{Lock: "u", Beat: 1}}
	n.shows(lock.Event{Kind: lock.Changed, Entry: taken})
	n.wants(t) // it is nobody's
	delete(n.disowned, b.lock)
	n.shows(lock.Event{Kind: lock.Changed, Entry: taken})
	n.wants(t, "end", "watch []")
}

// TestNoListBesideTheWatchsOwn checks that the member asks for no list while the watch lists by itself, and asks for one after that for
// what was added meanwhile.
func TestNoListBesideTheWatchsOwn(t *testing.T) {
	n := watchingOwn(t, "b")
	n.adds("b")
	n.wants(t, "list anew")
	n.take(ListSent{Watch: n.s.watch, At: n.now})
	n.shows(lock.Event{Kind: lock.Listed, Revision: 8})
	n.passes(time.Millisecond)
	n.shows(lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: "c", Record: &record.Record{}, Version: record.Version{Revision: 9}}})
	n.adds("c") // too soon for another list
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
	n.shows(lock.Event{Kind: lock.Listing})
	n.passes(2 * time.Second)
	n.wants(t)
	n.shows(lock.Event{Kind: lock.Listed, Revision: 10})
	if !n.s.byLock["c"].listed {
		t.Error("c is not listed")
	}
	n.shows(lock.Event{Kind: lock.Resumed, Revision: 10})
	n.passes(2 * time.Second)
	n.wants(t)
}

// TestAListBesideASilentWatch checks that lists made beside a watch do not hide that the watch is silent.
func TestAListBesideASilentWatch(t *testing.T) {
	n := watchingOwn(t, "b", "c")
	n.adds("b")
	n.wants(t, "list anew")
	n.passes(n.patience(n.s) - time.Second)
	n.take(ListSent{Watch: n.s.watch, At: n.now})
	n.shows(lock.Event{Kind: lock.Listed, Revision: 8})
	n.wants(t)
	n.passes(2 * time.Second)
	n.wants(t, "end", "watch []")
}
