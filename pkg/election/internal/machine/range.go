package machine

import "github.com/primacy-dev/primacy/pkg/election/record"

// Terms with ranges. The record gives a term's range in wall-clock times, which the driver derives in each
// write from the record that it replaces. The machine has no wall clock and knows only how long the range
// lasts. It does not release a lock before that, so that the next holder need not begin in the future. Nor
// does it renew the lock while the work is stopping, since that would only make the range longer.

// ranged notes that a write of ours was committed: the range counts from when we asked for the write, which
// is when its times were made.
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
