package machine

import (
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
