package machine

import (
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// validity is for how long the lock is certainly ours, by our own writes and by the beats of our
// session, whether or not a term is on.
type validity struct {
	until   record.Instant
	renewAt record.Instant
	// rangeUntil is the end of the range that our last committed write made; zero if terms have no ranges.
	rangeUntil record.Instant
	// owedSince is when our session began to keep a lock ours with no work on it; zero while it keeps none.
	owedSince record.Instant
}

// committed notes that a write of ours is stored, as its reply or an observation says. The write went out no
// earlier than the instant sent.
func (s *step) committed(w write, sent record.Instant) {
	if w.purpose != Claim && w.purpose != Take && w.purpose != Renew {
		return
	}
	if s.Lock.Owner != Mine || s.Lock.Record.Token != w.token {
		return // already history
	}
	validUntil := sent.Add(s.cfg.Timing.Validity()) // rule sending-counts: from the send time, always
	if w.throughSession {
		validUntil = s.cfg.Beat.validUntil(s.cfg.Timing)
	}
	s.validity.until = max(s.validity.until, validUntil)
	s.validity.renewAt = max(s.validity.renewAt, sent.Add(s.cfg.Timing.RenewInterval))
	s.ranged(w)
	s.writes.denied = false
	switch {
	case s.Role == Leading && s.Term.Token == w.token:
		// Work that slept past its deadline is dead, and stays so (rule dead-by-the-deadline).
		if validUntil > s.Term.Deadline && s.now < s.Term.Deadline {
			s.Term.Deadline = validUntil
			s.act(Extend{Deadline: validUntil})
		}
	case (s.Role == Following || s.Role == Claiming) && w.purpose == Take && s.withdrawal.reason() == "" && s.now < validUntil.Add(-s.cfg.Timing.StopGrace):
		// A write whose term is over starts no second term when its late reply comes in.
		if w.token > s.Term.Token && !w.beforePause {
			s.start(w, sent, validUntil)
		}
	}
}

// Relying is the state with its validity extended by the beats of our session since its last step. Each step
// begins with Relying.
func (s State) Relying(c Config) State {
	if s.Lock.Owner != Mine || !s.Lock.keptBySession() {
		return s
	}
	validUntil := c.Beat.validUntil(c.Timing)
	if s.validity.until != 0 { // else a release is on its way, and another may hold it by now
		s.validity.until = max(s.validity.until, validUntil)
	}
	// Work that slept past its deadline is dead, and stays so (rule dead-by-the-deadline).
	if s.Role == Leading && s.Lock.Record.Token == s.Term.Token && c.Beat.Since < s.Term.Deadline {
		s.Term.Deadline = max(s.Term.Deadline, validUntil)
	}
	return s
}

// GoesByBeats says whether a term is on that the beats of our session keep alive. The driver need not
// report these beats, but must step the machine once Config.Beat is late, and again once it is not.
func (s *State) GoesByBeats() bool {
	return s.Role == Leading && s.Lock.Owner == Mine && s.Lock.keptBySession()
}

// ValidUntil is until when the lock is certainly ours by our committed renewals; zero while it is not. A
// term that fails open outlasts it.
func (s *State) ValidUntil() record.Instant { return s.validity.until }
