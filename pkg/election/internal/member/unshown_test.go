package member

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestAGivenUpLockIsWatched checks that the next incarnation waits for a term that the one before was shown after it had given the
// lock up, although a stranger put an earlier term back, twice.
func TestAGivenUpLockIsWatched(t *testing.T) {
	by := func(holder string, revision uint64, token record.Token, transitions int) lock.Entry {
		mark := &record.Mark{Identity: holder, Transitions: transitions, Beat: uint64(token), Duration: 15 * time.Second}
		r := &record.Record{Holder: holder, Group: "edge", Election: "a", Duration: time.Second, Transitions: transitions, Token: token, Mark: mark}
		return lock.Entry{Name: "a", Record: r, Version: record.Version{UID: "u", Revision: revision}}
	}
	of := func(m *Member) *contest {
		timing, _ := record.Profile(record.DefaultProfile)
		m.enter([]*Election{{ID: 1, Name: "a", Lock: "a", Settings: &Settings{Timing: timing}}})
		return m.contests.of[1]
	}
	for _, c := range []struct {
		what  string
		shown []lock.Entry // after the lock was given up
		waits bool
	}{
		{"nothing", nil, false},
		{"a later term", []lock.Entry{by("m2_01234567", 20, 15, 3)}, true},
		{"an earlier term in place of a later one", []lock.Entry{by("m2_01234567", 20, 15, 3), by("", 21, 5, 1)}, true},
		{"its deletion after a later term", []lock.Entry{by("m2_01234567", 20, 15, 3), {Name: "a", Version: record.Version{Revision: 21}}}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := incarnation(Heritage{})
			m.now = record.Instant(time.Hour)
			of(m)
			list(m, 10, by("", 10, 5, 1))
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
			again := of(next)
			list(next, 30, by("", 30, 12, 2))
			until := next.now.Add(14 * time.Second)
			if waits := again.state.WakesAt() > until; waits != c.waits {
				t.Errorf("it wakes at %v, and it is %v", time.Duration(again.state.WakesAt()), time.Duration(next.now))
			}
		})
	}
}
