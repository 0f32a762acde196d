package member

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// incarnation returns a member that begins with that heritage, and has seen nothing yet.
func incarnation(left Heritage) *Member {
	return New(Config{
		Group: "edge", Host: "m1", Identity: "m1_01234567", WritesPerSecond: 1, Chance: rand.NewPCG(1, 1), Heritage: left,
		Timing: record.Timing{LeaseDuration: 15 * time.Second, RenewInterval: 3 * time.Second, Drift: 0.01},
	})
}

// longest and longestDrift are the longest lease and the largest drift that the session in shownLongLease publishes.
const longest, longestDrift = 60 * time.Second, 0.02

// shownLongLease shows the member a store at revision 100, with one session of another member.
func shownLongLease(m *Member) {
	const lease = 15 * time.Second
	name, r := session.SlotName("edge", "m2", 0), &record.Record{
		Holder: "m2_01234567", Group: "edge", Duration: lease, Mark: &record.Mark{Identity: "m2_01234567", Beat: 1, Duration: lease},
		Member: &record.Member{Identity: "m2_01234567", Setup: record.Setup{LongestLease: 60, DriftPPM: 20_000}},
	}
	m.now = 1
	list(m, 100, lock.Entry{Name: name, Record: r, Version: record.Version{UID: "u", Revision: 100}})
}

// list shows the member a list of its own store.
func list(m *Member, revision uint64, entries ...lock.Entry) {
	s := m.streamOf(Own)
	m.watched(s, lock.Event{Kind: lock.Listing}, m.now)
	m.watched(s, lock.Event{Kind: lock.Listed, Revision: revision, List: entries}, m.now)
}

// TestARestoredStoreIsWaitedOutForTheLongestLease checks rule newer-by-version: after a restore a member takes nothing for the
// longest lease that it ever saw published, by the drift of those that it last saw. That holds also if it is leaving.
func TestARestoredStoreIsWaitedOutForTheLongestLease(t *testing.T) {
	for what, before := range map[string]func(*Member){
		"at work":                             func(*Member) {},
		"it leaves":                           func(m *Member) { m.leave(machine.ReasonSession) },
		"the session with that lease is gone": func(m *Member) { list(m, 101) },
		"it is long gone": func(m *Member) {
			list(m, 101)
			m.now = record.Instant(time.Hour)
			m.compare()
		},
	} {
		t.Run(what, func(t *testing.T) {
			m := incarnation(Heritage{})
			shownLongLease(m)
			before(m)
			m.now = m.now.Add(time.Minute)
			list(m, 50)
			drift := longestDrift
			if what == "it is long gone" {
				drift = m.cfg.Timing.Drift
			}
			want := m.now.Add(record.Timing{Drift: drift}.ObserverWait(longest))
			if got := m.Heritage().notBefore; got != want {
				t.Errorf("the next incarnation takes nothing before %v, want %v", time.Duration(got), time.Duration(want))
			}
		})
	}
}

// TestTheNextIncarnationNoticesARestore checks that the next incarnation notices a restore by what the one before left behind,
// if that one lost its session to the restore and did not see why. Only one incarnation notices it.
func TestTheNextIncarnationNoticesARestore(t *testing.T) {
	for _, c := range []struct {
		revision uint64
		restored bool
	}{{99, true}, {100, false}, {200, false}} {
		first := incarnation(Heritage{})
		shownLongLease(first)
		first.leave(machine.ReasonSession)
		second := incarnation(first.Heritage())
		second.now = record.Instant(time.Minute)
		list(second, c.revision)
		if got := second.leaving == machine.ReasonRestored; got != c.restored {
			t.Errorf("a list of revision %d: restored %v", c.revision, got)
		}
		want := second.now.Add(record.Timing{Drift: longestDrift}.ObserverWait(longest))
		if got := second.Heritage().notBefore; c.restored && got != want {
			t.Errorf("the next incarnation takes nothing before %v, want %v", time.Duration(got), time.Duration(want))
		}
		third := incarnation(second.Heritage())
		third.now = record.Instant(2 * time.Minute)
		list(third, c.revision)
		if third.leaving != "" {
			t.Errorf("a list of revision %d: the next one leaves, too: %s", c.revision, third.leaving)
		}
	}
}

// TestAListOfBeforeAnAnswer checks that a list of a store that is watched by name means a restore only if it is older than what the
// member knew when it requested the list: an answer may come in meanwhile.
func TestAListOfBeforeAnAnswer(t *testing.T) {
	for _, c := range []struct {
		revision uint64
		restored bool
	}{{99, true}, {100, false}, {150, false}, {200, false}} {
		n := newNaming()
		n.s.reaches(100)
		n.shows(lock.Event{Kind: lock.Listing})
		n.s.reaches(200)
		n.shows(lock.Event{Kind: lock.Listed, Revision: c.revision})
		if got := n.leaving == machine.ReasonRestored; got != c.restored {
			t.Errorf("a list of revision %d: restored %v", c.revision, got)
		}
	}
}

// TestAnAnswerOfARestoredStore checks that a write that was stored under an older revision than the member knew when it sent it means a
// restore, before the member makes anything of the answer: the write may have taken a lock that the backup shows as free. A write that
// changes nothing gets no new revision.
func TestAnAnswerOfARestoredStore(t *testing.T) {
	for what, c := range map[string]struct {
		replaces, answer uint64
		restored         bool
	}{
		"older":                {90, 99, true},
		"given a second time":  {90, 100, true},
		"the next one":         {90, 101, false},
		"older than a new one": {90, 150, false},
		"nothing changed":      {90, 90, false},
		"nothing, of the last": {100, 100, false},
	} {
		for _, store := range []Store{Own, {ID: 1, ByName: true}} {
			for _, inherits := range []bool{false, true} {
				n := newNaming()
				n.adds("x")
				if inherits {
					n.cfg.Heritage.newest = map[Store]uint64{store: 100}
				} else {
					n.streamOf(store).reaches(100)
				}
				a := asked{contest: n.contests.all[0], request: request{
					store: store, name: "x", write: &record.Record{Holder: "m1_01234567"}, replaces: record.Version{UID: "u", Revision: c.replaces},
				}}
				n.send(a)
				n.streamOf(store).reaches(200)
				n.answered(Answered{Request: n.requests, Entry: lock.Entry{Name: "x", Version: record.Version{UID: "u", Revision: c.answer}}})
				if got := n.leaving == machine.ReasonRestored; got != c.restored {
					t.Errorf("%s (store %d, inherited %v): restored %v", what, store.ID, inherits, got)
				}
			}
		}
	}
}

// TestALostAnswerOfARestoredStore checks the same of a write whose answer is lost, and which the stream or a read shows.
func TestALostAnswerOfARestoredStore(t *testing.T) {
	for what, c := range map[string]struct {
		shown    uint64
		beat     uint64
		restored bool
	}{
		"older":                {99, 7, true},
		"given a second time":  {100, 7, true},
		"the next one":         {101, 7, false},
		"older than a new one": {150, 7, false},
		"another write":        {99, 6, false},
	} {
		for _, by := range []string{"a read", "the stream"} {
			n := newNaming()
			n.adds("x")
			n.s.reaches(100)
			one := n.contests.all[0]
			one.listed = true
			r := record.Record{Holder: n.identity, Duration: time.Second, Mark: &record.Mark{Identity: n.identity, Beat: 7}}
			n.send(asked{contest: one, request: request{store: n.s.store, name: "x", write: &r, replaces: record.Version{UID: "u", Revision: 90}}})
			n.s.reaches(200)
			n.answered(Answered{Request: n.requests, Err: lock.ErrUnknown})
			r.Mark = &record.Mark{Identity: n.identity, Beat: c.beat}
			e := lock.Entry{Name: "x", Record: &r, Version: record.Version{UID: "u", Revision: c.shown}}
			if by == "a read" {
				n.send(asked{contest: one, request: request{store: n.s.store, name: "x"}})
				n.answered(Answered{Request: n.requests, Entry: e})
			} else {
				n.shown(n.s, e, machine.Stream)
			}
			if got := n.leaving == machine.ReasonRestored; got != c.restored {
				t.Errorf("%s, shown by %s: restored %v", what, by, got)
			}
		}
	}
}

// TestWhoLeavesWritesNothingAfterARestore checks that a member that was leaving already writes no lock any more once it notices a restore.
func TestWhoLeavesWritesNothingAfterARestore(t *testing.T) {
	n := newNaming()
	n.adds("x")
	x := n.contests.all[0]
	n.leave(machine.ReasonSession)
	if x.state.Ended() {
		t.Fatal("it writes nothing before the restore")
	}
	n.read(x)
	n.restored()
	n.attend()
	if !x.state.Ended() || len(n.asked) > 0 {
		t.Errorf("it goes on, with %d requests", len(n.asked))
	}
}
