package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Outage is what becomes of a term whose renewals no longer come through.
type Outage struct {
	Mode OutageMode
	// For is how long a term may outlast its validity in OutageFailOpen.
	For time.Duration
}

// OutageMode says whether work stops when the store is away.
type OutageMode int

const (
	// OutageStop: the work is dead by the deadline, whatever the reason (rule dead-by-the-deadline).
	OutageStop OutageMode = iota
	// OutageFailOpen: the term goes on past its deadline while the store does not answer. This gives up the
	// guarantee: another elector that reaches the store can take the lock meanwhile.
	OutageFailOpen
)

// OutageUnbounded lets a term outlast its validity for as long as the store is away.
const OutageUnbounded = 100 * 365 * 24 * time.Hour

// failOpen lets a term outlast its validity while the store does not answer; lead calls it only if nothing
// says that the lock is another's. The work gets short extensions, so that it still dies with its driver.
// failOpen returns when to stop the work; stopAt is when to stop it without an extension.
func (s *step) failOpen(stopAt record.Instant) record.Instant {
	t := s.cfg.Timing
	switch {
	case s.cfg.Outage.Mode != OutageFailOpen || s.now >= stopAt:
		return stopAt
	case s.writes.denied: // we take back what we granted
		return min(stopAt, s.validity.until.Add(-t.StopGrace))
	}
	// In time: at stopAt a guard of the driver stops the work by itself.
	if due := stopAt.Add(-t.RenewInterval); s.now < due {
		s.wakeAt(due)
		return stopAt
	}
	if silent := s.silentAt(stopAt); s.now < silent {
		s.wakeAt(silent)
		return stopAt
	}
	deadline := min(s.now.Add(t.Extension()), s.validity.until.Add(s.cfg.Outage.For))
	if deadline <= s.Term.Deadline {
		return stopAt
	}
	s.Term.Deadline = deadline
	s.act(Extend{Deadline: deadline})
	stopAt = deadline.Add(-t.StopGrace)
	s.wakeAt(stopAt.Add(-t.RenewInterval))
	return stopAt
}

// silentAt is from when on we take the store to be silent: a quarter of a renewInterval after the first write
// since it last answered one, or sooner if the term must stop before that. A term whose driver was held up may be
// nearly over although nobody has asked the store since its last answer. Then it asks first, once no read is under way.
func (s *step) silentAt(stopAt record.Instant) record.Instant {
	asked := s.writes.silentSince
	if asked == 0 {
		if s.writes.reading {
			return stopAt
		}
		asked = max(s.now, s.writableAt()) // then the next renewal goes out
	}
	return asked.Add(max(0, min(s.cfg.Timing.RenewInterval/4, stopAt.Sub(asked)/2)))
}

// asks notes that a write goes out. Reads do not count: a driver may send them much later.
func (w *writes) asks(now record.Instant) {
	if w.silentSince == 0 {
		w.silentSince = now
	}
}

// hears notes a definite answer to a write. An answered read is none: where writes hang, reads may be answered.
func (w *writes) hears() { w.silentSince = 0 }

// refusal notes that the store said no to a renewal: until it says yes, we do not take its silence for an
// outage.
func (s *step) refusal() { s.writes.denied = s.cfg.Outage.Mode == OutageFailOpen }
