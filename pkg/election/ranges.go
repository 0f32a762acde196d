package election

import "time"

// Range returns the stretch of wall-clock time that belongs to this member in an election with ranges
// (Spec.Range), both ends included. It begins when the term was acquired and ends leaseDuration after the
// last committed renewal. Ranges of different terms never overlap, whichever members lead and whatever
// their clocks say. A renewal that fails, or whose outcome is unknown, does not change the range. ok is
// false while this member does not lead.
//
// While a term fails open its range grows with the wall clock, and may overlap with others.
func (s *Status) Range() (start, end time.Time, ok bool) {
	r, v := s.rng.Load(), s.ValidTerm()
	if r == nil || v == nil || v.Token != r.Token {
		return time.Time{}, time.Time{}, false
	}
	start, end = r.Start, r.End
	if s.FailingOpen() {
		if wall := s.shared.clock.Wall().UTC(); wall.After(end) {
			end = wall
		}
	}
	return start, end, true
}

// InRange says whether t is in the present Range, ends included.
func (s *Status) InRange(t time.Time) bool {
	start, end, ok := s.Range()
	return ok && !t.Before(start) && !t.After(end)
}
