package member

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// migrating is a member with an election that moves, and the contest for the election's new lock.
func migrating() (*Member, *contest) {
	m := New(Config{Group: "edge", Identity: "m1_01234567", Host: "m1", WritesPerSecond: 1, Chance: rand.NewPCG(1, 1)})
	m.now = record.Instant(time.Hour)
	timing, _ := record.Profile(record.DefaultProfile)
	e := &Election{ID: 1, Name: "a", Lock: "a", Settings: &Settings{Timing: timing}}
	inner := newContest(m, e, e.lockName())
	m.migration(inner, &LockRef{Lock: "old"})
	return m, inner
}

// TestNoAlarmStaysInThePast checks that a member that let go of the old lock, since it could not write the new one, sets no
// alarm for when the new lock's holder expired, or when it was to take the old lock again: an alarm in the past wakes the member for
// ever.
func TestNoAlarmStaysInThePast(t *testing.T) {
	m, inner := migrating()
	timing := inner.election.Timing
	held := &record.Record{Holder: "m2_01234567", Mark: &record.Mark{Identity: "m2_01234567", Duration: timing.LeaseDuration}}
	inner.state.Lock.Owner, inner.state.Lock.Record = machine.Other, held
	inner.outer.state.Lock.Owner = machine.Free
	w := inner.outer.waiting
	w.until = m.now.Add(time.Minute)
	for _, later := range []time.Duration{0, 3 * timing.LeaseDuration} { // by then nobody has taken the old lock for long
		m.now = m.now.Add(later)
		m.tendMove(inner.outer)
		if at := w.at(); at != 0 && at <= m.now {
			t.Errorf("the alarm is %v in the past", m.now.Sub(at))
		}
	}
	if w.until != 0 {
		t.Error("it still waits for somebody to take the old lock")
	}
}
