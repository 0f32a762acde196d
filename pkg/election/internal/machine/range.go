package machine

import "github.com/primacy-dev/primacy/pkg/election/record"

// Terms with ranges. What a term's range is, the record says in wall-clock times, which the
// driver derives in each write from the record that it replaces; the machine has no wall
// clock and knows only how long the range lasts. A lock is not released before that, so
// that its next holder has no reason to begin in the future; and it is not renewed once
// its work is being stopped, since that would only make the range longer.

// ranged takes in that a write of ours was committed: the range counts from when it was asked
// for, which is when its times were made.
func (s *step) ranged(w write) {
	if s.cfg.Range {
		s.validity.rangeUntil = max(s.validity.rangeUntil, w.asked.Add(s.cfg.Timing.LeaseDuration))
	}
}

// releasableAt is from when on a release may go out; zero while only an answer can tell.
func (s *step) releasableAt() record.Instant {
	if s.now < s.validity.rangeUntil {
		return s.validity.rangeUntil
	}
	return s.writableAt()
}
