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

// istioStops is how long after its last renewal an elector of Istio's may be at work. Its timings are constants:
// renewDeadline 15 s, retryPeriod 7.5 s.
const istioStops = 3*15*time.Second + 7500*time.Millisecond

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

// leftToIstio is until when we leave the lock to electors of Istio's: those of the preferred revision, or all
// while we do not know that revision. free is the instant from which on it may be taken.
func (s *step) leftToIstio(free record.Instant) record.Instant {
	l := s.Lock
	switch {
	case l.Owner == Foreign:
		return 0 // they may steal a claimed lock: nobody works on it
	case s.cfg.Foreign.Sharing == SharedWithIstio && s.cfg.Preferred.State == record.PreferredNotSynced:
		return s.stealsUntil(free) // an elector of the preferred revision takes it meanwhile
	case !s.preferredElsewhere():
		return 0
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
