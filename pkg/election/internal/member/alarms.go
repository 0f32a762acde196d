package member

import (
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Some conditions that a machine reports are over a moment later: members see a new preference one
// after the other, and the watch may show a session after the lock that it renews. We log such a
// condition only if it lasts.

// alarm is a reported condition that has not been logged yet.
type alarm struct {
	report machine.Report
	// at is when to log the condition, if it still lasts then.
	at record.Instant
}

// patience is how long a condition may last in normal operation; zero if it never occurs then.
func (c *contest) patience(kind machine.ReportKind) time.Duration {
	lease := c.election.Timing.LeaseDuration
	switch rec := c.state.Lock.Record; {
	case kind == machine.Divided:
		return lease
	case kind == machine.Ownerless && rec.Bound(): // we may see the holder's session a moment later
		return lease / 2
	}
	return 0
}

// raise logs a condition that a machine reported, or sets an alarm for it.
func (m *Member) raise(c *contest, a machine.Report) {
	if a.Kind == machine.Ownerless && c.state.Lock.Record.Untouched() {
		m.waitsFor(c, a.Until) // every new lock is ownerless at first
		return
	}
	if wait := c.patience(a.Kind); wait > 0 {
		c.alarm = &alarm{a, m.now.Add(wait)}
		m.rewake(c)
		return
	}
	c.sound(m.log, a)
}

// tendAlarm logs a condition that lasted too long, and forgets one that is over.
func (m *Member) tendAlarm(c *contest) {
	a := c.alarm
	switch {
	case a == nil:
	case c.state.Alarm() != a.report.Kind || a.report.Kind == machine.Divided && c.state.Role != machine.Leading:
		c.alarm = nil
	case m.now >= a.at:
		c.alarm = nil
		c.sound(m.log, a.report)
	}
}

func (c *contest) sound(log logger, a machine.Report) {
	fields := []zap.Field{zap.String("election", c.name()), zap.Uint64("term", uint64(a.Token)), zap.String("detail", a.Detail)}
	if a.Until > c.m.now {
		fields = append(fields, zap.Duration("for", a.Until.Sub(c.m.now)))
	}
	log.Warn(a.Kind.String(), fields...)
}
