package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// An elector of Istio's steals the lock, inside its poll and at once, from whoever is not of
// the preferred revision. What it steals it works on before we can see it, so where Istio
// shares the lock we neither keep nor take it while such a theft is to be expected.

// istioPoll is the longest time in which an Istio elector looks at the lock once.
const istioPoll = 16500 * time.Millisecond

// istioLease is the duration that Istio's electors go by, whatever is written.
const istioLease = 30 * time.Second

// leastForeign is the duration that an elector which is not ours goes by at the least. One
// of Istio's works on for up to 22.5 s after its last renewal, and twice half of its
// duration is more.
func (s *step) leastForeign() time.Duration {
	if s.cfg.Foreign.Sharing == SharedWithIstio {
		return max(s.cfg.Timing.LeaseDuration, istioLease/2)
	}
	return s.cfg.Timing.LeaseDuration
}

// yields says whether the preference left our revision since this term was asked for,
// where Istio shares the lock: it would steal the lock at its next poll, so we release it
// before.
func (s *step) yields() bool { return s.preferredElsewhere() && s.preferredSince >= s.Term.asked }

// preferredElsewhere says whether electors of Istio's would steal the lock from us.
func (s *step) preferredElsewhere() bool {
	return s.cfg.Foreign.Sharing == SharedWithIstio && s.cfg.Preferred.State == record.PreferredSet &&
		s.cfg.Preferred.Revision != s.cfg.Member.Key().Revision()
}

// stealsUntil is when every elector of Istio's that lives has looked at the lock.
func (s *step) stealsUntil(since record.Instant) record.Instant {
	return since.Add(s.observer().ObserverWait(istioPoll))
}

// leftToIstio is until when a lock that may be taken from the instant free is left to
// electors of the preferred revision that are not ours.
func (s *step) leftToIstio(free record.Instant) record.Instant {
	l := s.Lock
	if !s.preferredElsewhere() || l.Owner == Foreign {
		return 0 // what is claimed they can steal while nobody works
	}
	key := l.Record.HolderKey
	if l.Record.Bound() {
		key = l.Record.Mark.Key
	}
	if key != "" && key.Revision() != s.cfg.Preferred.Revision {
		// They would have stolen it from its former holder, too.
		return s.stealsUntil(s.preferredSince)
	}
	return s.stealsUntil(max(free, s.preferredSince))
}
