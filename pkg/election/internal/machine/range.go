package machine

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

// inRange says whether to wait with a release, and asks for a Tick when that is over.
func (s *step) inRange() bool {
	if s.now >= s.validity.rangeUntil {
		return false
	}
	s.wakeAt(s.validity.rangeUntil)
	return true
}
