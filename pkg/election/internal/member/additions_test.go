package member

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// naming is a member with a store that it watches by name.
type naming struct {
	*Member
	s     *stream
	added ID
}

func newNaming() *naming {
	m := New(Config{Group: "edge", Identity: "m1_01234567", Host: "m1", WritesPerSecond: 1, Chance: rand.NewPCG(1, 2)})
	m.now = record.Instant(time.Minute)
	return &naming{Member: m, s: m.streamOf(Store{ID: 1, ByName: true})}
}

// adds has the member take part in elections with locks of the given names.
func (n *naming) adds(names ...string) {
	var added []*Election
	for _, name := range names {
		n.added++
		added = append(added, &Election{ID: n.added, Name: name, Lock: name, Locks: n.s.store, Settings: &Settings{}})
	}
	n.enter(added)
}

// passes lets time pass.
func (n *naming) passes(d time.Duration) {
	n.now = n.now.Add(d)
	n.tendStreams()
}

// shows has the watch of the names show an event.
func (n *naming) shows(e lock.Event) { n.watched(n.s, e, n.now) }

// passesTrial tells the member that a list of other names passes than its watch has.
func (n *naming) passesTrial() { n.take(ListPassed{n.s.watch}) }

// lists has the watch show a list of the store, which has no locks.
func (n *naming) lists() { n.shows(lock.Event{Kind: lock.Listed, Revision: 5}) }

// wants checks what the member did with its watch since the last check. If the member asked for the watch's end, wants
// has the watch end.
func (n *naming) wants(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for len(n.out.list) > 0 {
		did := n.out.list
		n.out.list = nil
		for _, e := range did {
			switch do := e.(type) {
			case Watch:
				if do.Store == n.s.store {
					got = append(got, fmt.Sprint("watch ", do.Names))
				}
			case EndWatch:
				if do.Watch == n.s.watch {
					got = append(got, "end")
					n.ended(n.s, nil)
				}
			case Relist:
				got = append(got, strings.TrimSuffix(fmt.Sprint("list anew ", do.Names), " []"))
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the member did %q, want %q", got, want)
	}
}

// TestTheListUnderWayComesFirst checks that a new election does not cut short a list by name that is under way, and that
// the next list shows its lock.
func TestTheListUnderWayComesFirst(t *testing.T) {
	n := newNaming()
	n.adds("a")
	n.wants(t, "watch [a]")
	n.shows(lock.Event{Kind: lock.Listing})
	for _, name := range []string{"b", "c"} {
		n.passes(2 * time.Second)
		n.adds(name)
		n.wants(t)
	}
	n.lists()
	if !n.s.byLock["a"].listed || n.s.byLock["b"].listed || n.s.byLock["c"].listed {
		t.Error("the list shows another lock than it was asked for")
	}
	n.passes(0)
	n.wants(t, "list anew [a b c]")
	n.passesTrial()
	n.wants(t, "end", "watch [a b c]")
	n.passesTrial()
	n.wants(t)
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.passes(time.Minute)
	n.wants(t)
	if !n.s.byLock["b"].listed || !n.s.byLock["c"].listed {
		t.Error("the next list does not show what was added")
	}
}

// TestAnElectionAddedBeforeTheListIsAskedFor checks that an election counts as late if it is added after the names of a
// watch were settled, even if that is before the list is requested: the list does not show its lock.
func TestAnElectionAddedBeforeTheListIsAskedFor(t *testing.T) {
	n := newNaming()
	n.adds("a")
	n.wants(t, "watch [a]")
	n.passes(time.Millisecond)
	n.adds("b")
	n.passes(time.Millisecond)
	n.shows(lock.Event{Kind: lock.Listing})
	n.passes(2 * time.Second)
	n.lists()
	if b := n.s.byLock["b"]; b.listed {
		t.Errorf("a list of other names shows the lock: %+v", b.state.Lock)
	}
	n.passes(0)
	n.wants(t, "list anew [a b]")
	n.passesTrial()
	n.wants(t, "end", "watch [a b]")
}

// TestOnlyASilentWatchIsBegunAnew checks that a watch that is behind a read is begun anew only if it may be silent: one that waits
// for its list, or is known to be broken, goes on by itself, and the growing pauses between its attempts would begin again.
func TestOnlyASilentWatchIsBegunAnew(t *testing.T) {
	n := newNaming()
	n.adds("a")
	n.wants(t, "watch [a]")
	behind := func(want ...string) {
		t.Helper()
		n.catchUp(n.s, "")
		n.wants(t, want...)
	}
	n.shows(lock.Event{Kind: lock.Listing})
	behind()
	n.lists()
	behind("end", "watch [a]")
	n.lists()
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
	behind()
	n.shows(lock.Event{Kind: lock.Resumed, Revision: 6})
	behind("end", "watch [a]")
}

// TestNoListOfNoNames checks that the member watches a new election at once if the present watch has no names: such a watch
// never shows a list, so there is none to wait for.
func TestNoListOfNoNames(t *testing.T) {
	n := newNaming()
	n.adds("a")
	n.wants(t, "watch [a]")
	n.shows(lock.Event{Kind: lock.Listing})
	n.drop(n.s.byLock["a"])
	n.passes(2 * time.Second)
	n.begin(n.s)
	n.wants(t, "end", "watch []")
	n.passes(2 * time.Second)
	n.adds("b")
	n.wants(t, "end", "watch [b]")
}

// TestABrokenListMakesRoom checks that the member stops waiting for a list that breaks if it needs a list of other names by
// now. The old list may break for ever, for example if the user may not read one of its names.
func TestABrokenListMakesRoom(t *testing.T) {
	for what, change := range map[string]func(*naming){
		"an election is added":   func(n *naming) { n.adds("c") },
		"an election is removed": func(n *naming) { n.drop(n.s.byLock["b"]) },
	} {
		t.Run(what, func(t *testing.T) {
			n := newNaming()
			n.adds("a", "b")
			n.wants(t, "watch [a b]")
			n.shows(lock.Event{Kind: lock.Listing})
			n.passes(2 * time.Second)
			n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrDenied})
			n.passes(0)
			n.wants(t)
			n.shows(lock.Event{Kind: lock.Listing})
			n.passes(2 * time.Second)
			change(n)
			n.wants(t)
			n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrDenied})
			n.passes(0)
			n.wants(t, "end", fmt.Sprint("watch ", slices.Sorted(maps.Keys(n.s.byLock))))
		})
	}
}

// TestAStreamThatCannotBeOpenedMakesRoom checks the same for a list that is shown, while the stream of a name that the member no
// longer needs cannot be opened.
func TestAStreamThatCannotBeOpenedMakesRoom(t *testing.T) {
	n := newNaming()
	n.adds("a", "b")
	n.wants(t, "watch [a b]")
	n.shows(lock.Event{Kind: lock.Listing})
	n.passes(2 * time.Second)
	n.shows(lock.Event{Kind: lock.Listed, Revision: 10})
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrDenied})
	n.passes(2 * time.Second)
	n.wants(t)
	n.drop(n.s.byLock["b"])
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrDenied})
	n.passes(0)
	n.wants(t, "list anew [a]")
	n.passesTrial()
	n.wants(t, "end", "watch [a]")
}

// TestAWatchOfNamesGoesOnWhileListsFail checks that the member keeps a watch by name until it knows that a list of other names passes: a
// watch begun anew shows nothing until its list has come. Names that the member no longer needs do not hold up others.
func TestAWatchOfNamesGoesOnWhileListsFail(t *testing.T) {
	n := newNaming()
	n.adds("a")
	n.wants(t, "watch [a]")
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.passes(2 * time.Second)
	n.adds("bad")
	n.wants(t, "list anew [a bad]")
	fails := func() { n.take(ListFailed{Watch: n.s.watch, Err: lock.ErrUnknown}) }
	fails()
	n.adds("b") // the next watch has its name, too
	n.wants(t)
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrEnded})
	n.shows(lock.Event{Kind: lock.Resumed})
	n.passes(2 * time.Second)
	n.wants(t)
	if says := n.says(); !slices.Equal(says.Standing, []string{"b", "bad"}) {
		t.Errorf("not in good standing for %q", says.Standing)
	}
	n.drop(n.s.byLock["bad"])
	fails()
	n.passes(0)
	n.wants(t, "list anew [a b]")
	n.drop(n.s.byLock["b"])
	n.drop(n.s.byLock["a"])
	fails()
	n.passes(2 * time.Second)
	n.wants(t, "end", "watch []")
	n.passes(2 * time.Second)
	n.adds("c")
	n.wants(t, "end", "watch [c]")
}

// TestAWholeWatchGoesOnWhileListsFail checks the same for the watch of a whole store that has no sessions.
func TestAWholeWatchGoesOnWhileListsFail(t *testing.T) {
	n := newNaming()
	n.s = n.streamOf(Store{ID: 2})
	n.adds("a")
	n.wants(t, "watch []")
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.shows(lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: "b", Record: &record.Record{}, Version: record.Version{Revision: 6}}})
	n.passes(2 * time.Second)
	n.adds("b")
	n.wants(t, "list anew")
	n.take(ListFailed{Watch: n.s.watch, Err: lock.ErrUnknown})
	if says := n.says(); !slices.Equal(says.Standing, []string{"b"}) {
		t.Errorf("not in good standing for %q", says.Standing)
	}
	n.take(ListSent{Watch: n.s.watch, At: n.now})
	n.shows(lock.Event{Kind: lock.Listed, Revision: 9})
	if !n.s.byLock["b"].listed {
		t.Error("the list does not show what was added")
	}
}

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
	n.take(ListFailed{Watch: n.s.watch, Err: lock.ErrUnknown})
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
	n.take(ListFailed{Watch: n.s.watch, Err: lock.ErrUnknown})
	says("b")
	n.take(ListSent{Watch: n.s.watch, At: n.now})
	says("b")
	if got := n.says().Lacks; !slices.Equal(got, []record.Lack{{Election: "b", Why: record.NoList}}) {
		t.Errorf("lacks %v", got)
	}
	n.begin(n.s) // the list of the next watch fails, too
	n.wants(t, "end", "watch []")
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
	says("b")
	n.shows(lock.Event{Kind: lock.Listed, Revision: 9})
	says()
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
	n.take(ListFailed{Watch: n.s.watch, Err: lock.ErrUnknown})
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
