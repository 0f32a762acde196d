package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// An elector of Istio's polls the lock, and steals it at once from a holder that is not of the preferred
// revision. It begins to work before we can see the theft. So where Istio shares the lock, we neither keep
// nor take it while we must expect a theft.

// istioPoll is the longest time between two looks of an Istio elector at the lock.
const istioPoll = 16500 * time.Millisecond

// istioLease is the lease duration that Istio's electors use, whatever the record says.
const istioLease = 30 * time.Second

// leastForeign is the least duration to assume of an elector that is not ours. One of Istio's works on for
// up to 22.5 s after its last renewal; callers double half of its lease, which is more.
func (s *step) leastForeign() time.Duration {
	if s.cfg.Foreign.Sharing == SharedWithIstio {
		return max(s.cfg.Timing.LeaseDuration, istioLease/2)
	}
	return s.cfg.Timing.LeaseDuration
}

// yields says whether the preference left our revision since we asked for this term, where Istio shares the
// lock. Its elector would steal the lock at its next poll, so we release it before.
func (s *step) yields() bool { return s.preferredElsewhere() && s.preferredSince >= s.Term.asked }

// preferredElsewhere says whether electors of Istio's would steal the lock from us.
func (s *step) preferredElsewhere() bool {
	return s.cfg.Foreign.Sharing == SharedWithIstio && s.cfg.Preferred.State == record.PreferredSet &&
		s.cfg.Preferred.Revision != s.cfg.Member.Key().Revision()
}

// stealsUntil is by when every living elector of Istio's has looked at the lock after the instant since.
func (s *step) stealsUntil(since record.Instant) record.Instant {
	return since.Add(s.observer().ObserverWait(istioPoll))
}

// leftToIstio is until when we leave the lock to foreign electors of the preferred revision; free is the
// instant from which on it may be taken.
func (s *step) leftToIstio(free record.Instant) record.Instant {
	l := s.Lock
	if !s.preferredElsewhere() || l.Owner == Foreign {
		return 0 // they may steal a claimed lock: nobody works on it
	}
	key := l.Record.HolderKey
	if l.Record.Bound() {
		key = l.Record.Mark.Key
	}
	if key != "" && key.Revision() != s.cfg.Preferred.Revision {
		// Istio's electors would have stolen it from its former holder, too.
		return s.stealsUntil(s.preferredSince)
	}
	return s.stealsUntil(max(free, s.preferredSince))
}
