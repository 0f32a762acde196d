package member

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestALockThatWasGivenUpIsFollowed checks that a member remembers a term that the stream shows after it gave the lock up. The next
// incarnation waits for that term, although its first list shows an earlier one.
func TestALockThatWasGivenUpIsFollowed(t *testing.T) {
	entry := func(holder string, revision uint64, token record.Token, transitions int) lock.Entry {
		mark := &record.Mark{Identity: holder, Transitions: transitions, Beat: uint64(token), Duration: 15 * time.Second}
		r := &record.Record{Holder: holder, Group: "edge", Election: "a", Duration: time.Second, Transitions: transitions, Token: token, Mark: mark}
		return lock.Entry{Name: "a", Record: r, Version: record.Version{UID: "u", Revision: revision}}
	}
	enter := func(m *Member) *contest {
		timing, _ := record.Profile(record.DefaultProfile)
		m.enter([]*Election{{ID: 1, Name: "a", Lock: "a", Settings: &Settings{Timing: timing}}})
		return m.contests.of[1]
	}
	for _, c := range []struct {
		what  string
		shown []lock.Entry // after the lock was given up
		waits bool
	}{
		{"no later term", nil, false},
		{"a later term", []lock.Entry{entry("m2_01234567", 20, 15, 3)}, true},
		{"a later term, then an earlier one put back", []lock.Entry{entry("m2_01234567", 20, 15, 3), entry("", 21, 5, 1)}, true},
		{"a later term, then the lock is deleted", []lock.Entry{entry("m2_01234567", 20, 15, 3), {Name: "a", Version: record.Version{Revision: 21}}}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := incarnation(Heritage{})
			m.now = record.Instant(time.Hour)
			enter(m)
			list(m, 10, entry("", 10, 5, 1))
			m.leave(machine.ReasonSession)
			m.settle()
			if len(m.contests.all) > 0 {
				t.Fatal("it did not give the lock up")
			}
			for _, e := range c.shown {
				m.watched(m.streamOf(Own), lock.Event{Kind: lock.Changed, Entry: e}, m.now)
			}
			next := incarnation(m.Heritage())
			next.now = m.now.Add(time.Second)
			again := enter(next)
			list(next, 30, entry("", 30, 12, 2))
			wait := again.state.WakesAt().Sub(next.now)
			if waits := wait > 14*time.Second; waits != c.waits { // a lease is 15 s
				t.Errorf("it waits for the later term: %v, want %v (it wakes %v after its first list)", waits, c.waits, wait)
			}
		})
	}
}
