package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// standing is how far this member's runners can be trusted with the lock, after they failed.
type standing struct {
	// downUntil is until when this member's standing here is lowered.
	downUntil record.Instant
	failures  int
	// pausedUntil is until when this member leaves a free lock alone since its runners failed.
	pausedUntil record.Instant
}

// standDown lowers this member's standing, doubling while terms stay short (rule no-flapping).
func (s *step) standDown() {
	if s.now.Sub(s.Term.Started) > 2*record.Doubled(s.cfg.Timing.StandDown, s.standing.failures) {
		s.standing.failures = 0
	}
	t := s.cfg.Timing
	s.standing.downUntil = s.now.Add(record.Doubled(t.StandDown, s.standing.failures))
	// Nobody is excluded from a free lock (rule succession), but neither do failing runners make
	// it go round as fast as the store can write: all others go first.
	pause := record.Doubled(max(2*t.NominateDelay, time.Second), s.standing.failures)
	s.standing.pausedUntil = min(s.standing.downUntil, s.now.Add(pause))
	s.standing.failures++
}

// Standing says whether the member's runners are in good standing here.
func (s *State) Standing(now record.Instant) bool { return now >= s.standing.downUntil }
