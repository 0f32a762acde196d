package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Taking a lock from an elector that is not ours (rule 8). It does not know that it lost
// the lock until its next write is rejected, and client-go's works on until its
// renewDeadline. So the lock is written first, with a claim that says from whom it was
// taken, and the term starts only when that elector has certainly stopped. The claim
// stays with the lock: whoever takes over from the claimer waits as well.

// seeClaim takes in the claim that a record of ours carries. A claim seen before keeps
// its clock: its foreign holder cannot have renewed since.
func (s *step) seeClaim(r *record.Record) {
	if r.Claim == nil || !r.Bound() || r.Claim.Identity == s.claimed.Identity && r.Claim.Transitions == s.claimed.Transitions {
		return
	}
	s.claimed, s.claimedAt = *r.Claim, s.now
}

// claimOver is when the foreign holder that was seen last has certainly stopped.
func (s *step) claimOver() record.Instant {
	wait := s.cfg.Foreign.Wait
	if wait == 0 {
		// Twice, since a renewal whose reply was slow lets it work on for longer than once.
		wait = 2 * min(s.claimed.Duration, foreignMaxDuration)
	}
	return s.claimedAt.Add(s.cfg.Timing.ObserverWait(wait))
}

// claimLasts says whether a foreign holder was seen that may still be at work.
func (s *step) claimLasts() bool { return s.claimed.Identity != "" && s.now < s.claimOver() }

// claimOfOurs is the claim that what we write must carry.
func (s *step) claimOfOurs() *record.Claim {
	if s.Role == Leading || s.Role == Draining || !s.claimLasts() {
		return nil
	}
	claim := s.claimed
	return &claim
}

// claiming: the lock is ours, its work is not yet. Keep it, and wait.
func (s *step) claiming() {
	switch {
	case s.Lock.Owner == Mine:
	case s.lastHolder() && s.withdrawn() == "":
		// A foreign elector that was stopped before it noticed blanks our record.
		s.take()
		return
	default:
		s.become(Following, ReasonNotHeld)
		return
	}
	switch {
	case s.withdrawn() != "" || s.better() != nil:
		s.Drain.Reason = ReasonReleased
		s.release()
	case s.claimLasts():
		s.wakeAt(s.claimOver())
		s.renew()
	default:
		s.take()
	}
}

// mayBeForeign says whether electors that are not ours may look at the lock.
func (s *step) mayBeForeign() bool { return s.Lock.shared || s.cfg.Foreign.Sharing != NotShared }

// reassert writes our name back over a record that was blanked while our work is being
// stopped: foreign electors would take it at once. It extends nothing.
func (s *step) reassert() {
	if s.mayWrite() {
		s.put(Renew, s.held(s.Term.Token))
	}
}

// releasedByForeign says whether r shows that a foreign holder released the lock, seen to
// replace that holder with nothing in between, or what strangers made of it since.
func (s *step) releasedByForeign(r *record.Record, v record.Version) bool {
	before := s.Lock
	if before.Record == nil || before.Version.UID != v.UID || r.Unreadable != "" ||
		r.Holder != "" || r.Duration != time.Second || r.Renewed.IsZero() || r.Transitions != before.Record.Transitions {
		return false
	}
	return before.foreignRelease ||
		before.Owner == Foreign && before.Version == before.streamed && s.source == Stream
}

// outranksForeign says whether we are worth claiming the lock from the foreign holder
// that has it, and keeps since when.
func (s *step) outranksForeign() bool {
	if !s.Standing(s.now) || s.now < s.cfg.ProvenAt ||
		!s.cfg.Policy.Outranks(s.cfg.Member.Key(), foreignKey(s.Lock.Record), s.Preferred) {
		s.outrankedSince = 0
		return false
	}
	if s.outrankedSince == 0 {
		s.outrankedSince = s.now
	}
	return true
}

// foreignKey is the key of a foreign holder; absent where it may be a leftover of ours
// (rule 16).
func foreignKey(r *record.Record) record.Key {
	if r.Mark != nil && r.HolderKey == r.Mark.Key {
		return ""
	}
	return r.HolderKey
}

// istioPoll is the longest time in which an Istio elector looks at the lock once.
const istioPoll = 16500 * time.Millisecond

// yields says whether the preference left our revision during this term where Istio
// shares the lock: it would steal the lock at its next poll, so we release it before.
func (s *step) yields() bool {
	return s.cfg.Foreign.Sharing == SharedWithIstio && s.preferredElsewhere() && s.preferredAt > s.Term.Started
}

func (s *step) preferredElsewhere() bool {
	return s.Preferred.State == record.PreferredSet && s.Preferred.Revision != s.cfg.Member.Revision
}

// yieldsUntil is until when a free lock is left to electors of the preferred revision
// that are not ours.
func (s *step) yieldsUntil(free record.Instant) record.Instant {
	if s.cfg.Foreign.Sharing != SharedWithIstio || s.Lock.Owner != Free || !s.preferredElsewhere() {
		return 0
	}
	return free.Add(s.cfg.Timing.ObserverWait(istioPoll))
}
