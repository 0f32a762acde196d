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

// watchingA is a member whose watch of the name a has shown a list.
func watchingA(t *testing.T) *naming {
	t.Helper()
	n := newNaming()
	n.adds("a")
	n.wants(t, "watch [a]")
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.passes(2 * time.Second)
	return n
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
func (n *naming) passesTrial() { n.take(ListPassed{n.s.watch, n.s.trials}) }

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
	behind("list anew [a]")
	behind()
	n.passesTrial()
	n.wants(t, "end", "watch [a]")
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
	behind()
	n.shows(lock.Event{Kind: lock.Resumed, Revision: 6})
	behind("list anew [a]")
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
	n := watchingA(t)
	n.adds("bad")
	n.wants(t, "list anew [a bad]")
	fails := func() { n.take(ListFailed{Watch: n.s.watch, Trial: n.s.trials, Err: lock.ErrUnknown}) }
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
	n.take(ListFailed{Watch: n.s.watch, Trial: n.s.trials, Err: lock.ErrUnknown})
	if says := n.says(); !slices.Equal(says.Standing, []string{"b"}) {
		t.Errorf("not in good standing for %q", says.Standing)
	}
	n.take(ListSent{Watch: n.s.watch, At: n.now})
	n.shows(lock.Event{Kind: lock.Listed, Revision: 9})
	if !n.s.byLock["b"].listed {
		t.Error("the list does not show what was added")
	}
}
