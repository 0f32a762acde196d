package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// standing says how far we can trust this member's runners with the lock after they failed.
type standing struct {
	// downUntil is until when this member's standing in the election is lowered.
	downUntil record.Instant
	failures  int
	// pausedUntil is until when this member leaves a free lock alone because its runners failed.
	pausedUntil record.Instant
}

// standDown lowers this member's standing, for twice as long each time while terms stay short
// (rule no-flapping).
func (s *step) standDown() {
	if s.now.Sub(s.Term.Started) > 2*record.Doubled(s.cfg.Timing.StandDown, s.standing.failures) {
		s.standing.failures = 0
	}
	t := s.cfg.Timing
	s.standing.downUntil = s.now.Add(record.Doubled(t.StandDown, s.standing.failures))
	// Failing runners exclude nobody from a free lock (rule succession). But all others go first, so that
	// the lock does not go round as fast as the store can write.
	pause := record.Doubled(max(2*t.NominateDelay, time.Second), s.standing.failures)
	s.standing.pausedUntil = min(s.standing.downUntil, s.now.Add(pause))
	s.standing.failures++
}

// Standing says whether the member's runners are in good standing here.
func (s *State) Standing(now record.Instant) bool { return now >= s.standing.downUntil }
