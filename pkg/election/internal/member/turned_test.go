package member

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestNoAlarmStaysInThePast checks that a member that let go of the old lock, since it could not write the new one, sets no
// alarm for when the new lock's holder expired: an alarm in the past wakes the member for ever.
func TestNoAlarmStaysInThePast(t *testing.T) {
	m := New(Config{Group: "edge", Identity: "m1_01234567", Host: "m1", WritesPerSecond: 1})
	timing, _ := record.Profile(record.DefaultProfile)
	e := &Election{ID: 1, Name: "a", Lock: "a", Settings: &Settings{Timing: timing}}
	inner := newContest(m, e, e.lockName())
	m.migration(inner, &LockRef{Lock: "old"})
	held := &record.Record{Holder: "m2_01234567", Mark: &record.Mark{Identity: "m2_01234567", Duration: timing.LeaseDuration}}
	inner.state.Lock.Owner, inner.state.Lock.Record = machine.Other, held
	m.now = record.Instant(time.Hour)
	w := inner.outer.waiting
	w.until = m.now.Add(time.Minute)
	m.tendMove(inner.outer)
	if at := w.at(); at <= m.now {
		t.Errorf("the alarm is %v in the past", m.now.Sub(at))
	}
}
