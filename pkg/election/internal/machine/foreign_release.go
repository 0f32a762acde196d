package machine

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// What the release of an elector that is not ours says (rule claim-and-wait).

// releasedByForeign says whether r is a foreign holder's release: the stream showed r right after that
// holder's record. After that, an edited r still counts as a release while it looks like one.
func (s *step) releasedByForeign(r *record.Record, v record.Version) bool {
	released := func(from *record.Record) bool {
		return from != nil && r.Unreadable == "" && r.Holder == "" && r.Duration == time.Second &&
			!r.Renewed.IsZero() && !r.Renewed.Before(from.Renewed) && r.Transitions == from.Transitions
	}
	before, shown := s.Lock, s.Lock.shown
	switch {
	case before.foreignRelease && before.Version.UID == v.UID:
		return released(before.Record)
	case before.streamed.UID != v.UID:
		return false
	}
	// If the holder's duration was one second before, a release shows by its new renewal time.
	return s.source == Stream && released(shown) && before.shownForeign &&
		(shown.Duration != time.Second || !shown.Renewed.Equal(r.Renewed))
}

// isLate says whether a foreign elector's renewals failed between two writes of it, since the second came so late. Both times
// are by its own clock. As long as all goes well, it writes every retryPeriod, which is a third of its lease at most in all
// electors that we know. A renewDeadline is half of it or more, and requests are given up after half of that, or all.
func isLate(r, next *record.Record) bool {
	return r.Duration <= foreignMaxDuration && next.Renewed.Sub(r.Renewed) >= r.Duration*2/5
}

// foreignReleased notes that the foreign holder, whose record was shown, released with r, so it has stopped. But another foreign
// elector that was at work then may have written the release, since it blanks a lock whoever holds it. Then we take none
// of them to have stopped. Nor has a holder whose renewals failed: client-go ends its work only once the release has returned.
func (s *step) foreignReleased(shown, r *record.Record) {
	s.foreigners().suspects = s.remembered(foreignDuration(shown))
	another := func(o suspect) bool {
		return (o.Identity != shown.Holder || o.nameless) && s.stopped(o) > s.writtenSince()
	}
	if isLate(shown, r) || s.wasLate(shown.Holder) || slices.ContainsFunc(s.foreign.suspects, another) {
		return
	}
	for i := range s.foreign.suspects {
		s.foreigners().suspects[i].released = true
	}
}

// wasLate says whether the last renewal of the foreign elector with this name was late.
func (s *step) wasLate(name string) bool {
	return slices.ContainsFunc(s.foreign.suspects, func(o suspect) bool { return o.Identity == name && o.late })
}

// writtenSince is the earliest instant at which somebody may have written what the stream shows: it has shown a beat of ours before
// that. It is zero if we do not know.
func (s *step) writtenSince() record.Instant {
	if s.cfg.Sight != WithSessions {
		return 0
	}
	return s.cfg.Beat.Sent
}
