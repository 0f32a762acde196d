package election

import "time"

// Range is the stretch of wall-clock time that is this member's in an election with ranges
// (Spec.Range), both ends included: from the time at which the term was acquired to
// leaseDuration after its last committed renewal. Ranges of different terms share no
// moment, whosever they are and whatever the members' clocks say. A renewal that fails, or
// of which nobody knows, leaves it as it was. ok is false while this member does not lead.
//
// While a term fails open its range grows with the wall clock, and the promise is off.
func (s *Status) Range() (start, end time.Time, ok bool) {
	r, v := s.rng.Load(), s.ValidTerm()
	if r == nil || v == nil || v.Token != r.Token {
		return time.Time{}, time.Time{}, false
	}
	start, end = r.Start, r.End
	if s.FailingOpen() {
		if wall := s.clock.Wall().UTC(); wall.After(end) {
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
