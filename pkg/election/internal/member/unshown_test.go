package member

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// shownLock is how a stream shows the lock of election a.
type shownLock struct {
	holder      string
	revision    uint64
	token       record.Token
	transitions int
}

const other, elector = "m2_01234567", "an elector"

// entry is a record of a member, or of an elector of another kind.
func (s shownLock) entry() lock.Entry {
	e := lock.Entry{Name: "a", Version: record.Version{UID: "u", Revision: s.revision}}
	switch {
	case s.holder == elector:
		e.Record = &record.Record{Holder: elector, Duration: 15 * time.Second}
	case s.transitions > 0:
		mark := &record.Mark{Identity: s.holder, Transitions: s.transitions, Beat: uint64(s.token), Duration: 15 * time.Second}
		e.Record = &record.Record{
			Holder: s.holder, Group: "edge", Election: "a", Duration: time.Second, Transitions: s.transitions, Token: s.token, Mark: mark,
		}
	}
	return e
}

// enterA makes the member take part in election a.
func enterA(m *Member) *contest {
	timing, _ := record.Profile(record.DefaultProfile)
	m.enter([]*Election{{ID: 1, Name: "a", Lock: "a", Settings: &Settings{Timing: timing, Policy: priority.RevisionLocation{}}}})
	return m.contests.of[1]
}

// shownUnfollowed are things that the stream shows while no machine follows the lock, and whether the next list is waited out.
var shownUnfollowed = []struct {
	what  string
	first shownLock
	shown []shownLock
	list  shownLock
	waits bool
}{
	{"no later term", shownLock{"", 10, 5, 1}, nil, shownLock{"", 30, 12, 2}, false},
	{"the same release", shownLock{"", 10, 5, 1}, nil, shownLock{"", 10, 5, 1}, false},
	{"a later term and its release", shownLock{"", 10, 5, 1}, []shownLock{{other, 20, 15, 3}, {"", 30, 15, 3}}, shownLock{"", 30, 15, 3}, false},
	{"a later term", shownLock{"", 10, 5, 1}, []shownLock{{other, 20, 15, 3}}, shownLock{"", 30, 12, 2}, true},
	{"a later term, then an earlier one put back", shownLock{"", 10, 5, 1}, []shownLock{{other, 20, 15, 3}, {"", 21, 5, 1}}, shownLock{"", 30, 12, 2}, true},
	{"a later term, then the lock is deleted", shownLock{"", 10, 5, 1}, []shownLock{{other, 20, 15, 3}, {revision: 21}}, shownLock{"", 30, 12, 2}, true},
	{"an edit of the release", shownLock{"", 10, 5, 1}, []shownLock{{"", 20, 5, 1}}, shownLock{"", 20, 5, 1}, false},
	{"an elector, then the same release put back", shownLock{"", 10, 5, 1}, []shownLock{{elector, 20, 0, 0}, {"", 30, 5, 1}}, shownLock{"", 30, 5, 1}, true},
	{"an earlier release in place of an elector's record", shownLock{elector, 10, 0, 0}, []shownLock{{"", 20, 5, 1}}, shownLock{"", 20, 5, 1}, true},
}

// judge checks whether a contest that is shown its first list waits for a lease.
func (m *Member) judge(t *testing.T, c *contest, want bool) {
	t.Helper()
	wait := c.state.WakesAt().Sub(m.now)
	if waits := wait > 14*time.Second; waits != want { // a lease is 15 s
		t.Errorf("it waits for who may be at work: %v, want %v (it wakes %v after its first list)", waits, want, wait)
	}
}

// gaveUp returns a member that gave up the lock of election a, and was shown first of it.
func gaveUp(t *testing.T, first shownLock) *Member {
	t.Helper()
	m := incarnation(Heritage{})
	m.now = record.Instant(time.Hour)
	enterA(m)
	list(m, 10, first.entry())
	m.leave(machine.ReasonSession)
	m.settle()
	if len(m.contests.all) > 0 {
		t.Fatal("it did not give the lock up")
	}
	return m
}

// next is the next incarnation of the process, when no wait of before lasts any more.
func (m *Member) next() *Member {
	next := incarnation(m.Heritage())
	next.now = m.now.Add(time.Minute)
	return next
}

// follows shows the member what the stream shows.
func (m *Member) follows(shown []shownLock) {
	for _, s := range shown {
		m.watched(m.streamOf(Own), lock.Event{Kind: lock.Changed, Entry: s.entry()}, m.now)
	}
}

// TestALockThatWasGivenUpIsFollowed checks that a member remembers a term that the stream shows after it gave the lock up. The next
// incarnation waits for that term, although its first list shows an earlier one.
func TestALockThatWasGivenUpIsFollowed(t *testing.T) {
	for _, c := range shownUnfollowed {
		t.Run(c.what, func(t *testing.T) {
			m := gaveUp(t, c.first)
			m.follows(c.shown)
			next := m.next()
			again := enterA(next)
			list(next, 30, c.list.entry())
			next.judge(t, again, c.waits)
		})
	}
}

// TestWhatTheStreamShowsBeforeTheFirstList checks the same of a contest that began after the list under way, so that it waits for the
// next one.
func TestWhatTheStreamShowsBeforeTheFirstList(t *testing.T) {
	for _, c := range shownUnfollowed {
		t.Run(c.what, func(t *testing.T) {
			m := gaveUp(t, c.first).next()
			again := enterA(m)
			m.follows(c.shown)
			list(m, 30, c.list.entry())
			m.judge(t, again, c.waits)
		})
	}
}
