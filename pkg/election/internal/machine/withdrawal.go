package machine

import (
	"cmp"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// withdrawal is why this member gives up what it holds and takes nothing.
type withdrawal struct {
	// leaving is why it leaves for good, and since is when that began; empty and zero while it stays.
	leaving Reason
	since   record.Instant
	// paused is why it takes nothing for now; empty while it takes part.
	paused Reason
}

// reason is why this member takes nothing, for good or for now; empty while it takes part.
func (w withdrawal) reason() Reason { return cmp.Or(w.leaving, w.paused) }

// Settled says whether a member that resigned owes nothing any more: no work, no lock that it could still
// release, no write under way. It leaves to expire what it cannot release within one leaseDuration (rule
// answer-for-your-writes), and asks for a Tick at the end of that time. If a claim lasts longer than that,
// it leaves the claim at once.
func (s *State) Settled(c Config, now record.Instant) bool {
	switch {
	case s.withdrawal.leaving == "" || s.Role == Leading || s.Role == Draining && !s.Drain.Stopped:
		return false
	case now >= s.givesUpAt(c):
		// A lock that our session keeps ours must be disowned first (answerInTime): a Tick is due for that.
		return s.ended || s.Lock.Owner != Mine || !s.Lock.Record.ThroughSession()
	case s.Role != Following:
		return false
	case s.ended:
		return true
	}
	return len(s.writes.open) == 0 && (s.Lock.Owner != Mine || newStep(c, *s, now).abandons())
}

// givesUpAt is when a leaving member stops trying to release.
func (s *State) givesUpAt(c Config) record.Instant {
	if s.Lock.Owner == Mine && s.Lock.Record.ThroughSession() {
		return max(s.withdrawal.since, s.validity.owedSince).Add(c.Timing.LeaseDuration) // our session may last for ever
	}
	// The release is the first write after the range.
	return max(s.withdrawal.since.Add(c.Timing.LeaseDuration), s.validity.until, s.validity.rangeUntil.Add(c.Timing.RenewInterval))
}
