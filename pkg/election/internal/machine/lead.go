package machine

import (
	"cmp"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// lead: a term is on. Definite loss comes first, then the deadline, then what we want.
func (s *step) lead() {
	t := s.cfg.Timing
	stopAt := s.Term.Deadline.Add(-t.StopGrace) // rule dead-by-the-deadline
	if why, lost := s.lost(); lost {
		s.stop(why)
		s.Drain.Lost = true
		return
	}
	if s.expired { // a renewal that came in late does not start the work again
		s.stop(ReasonExpired)
		return
	}
	stopAt = s.failOpen(stopAt)
	switch {
	case s.now >= stopAt:
		s.stop(ReasonExpired)
	case s.withdrawal.reason() != "":
		s.stop(s.withdrawal.reason())
	case s.failed:
		s.standDown()
		s.stop(ReasonFailed)
	default:
		s.leadOn(stopAt)
	}
}

// leadOn keeps the lock, or drains for somebody else.
func (s *step) leadOn(stopAt record.Instant) {
	found := s.betters()
	s.noteBetters(found)
	switch {
	case s.forced():
		to := hashOf(s.named())
		s.stop(ReasonForced)
		s.Drain.To = to
	case found.best != nil && !s.waits(s.drainAt()):
		s.stop(ReasonPreempted)
		s.Drain.Cause = s.causeOf(found.best.Member)
	case s.yields():
		// However often the preference changes, we come back once per minHold (rule no-flapping).
		s.standing.pausedUntil = max(s.standing.pausedUntil, s.Term.Started.Add(s.cfg.Timing.MinHold))
		s.stop(ReasonYielded)
	default:
		if !s.GoesByBeats() || s.cfg.Beat.Late {
			s.wakeAt(stopAt)
		}
		s.renew()
	}
}

// lost says why the lock is definitely not our term's any more, if so (rule loss-is-definite).
func (s *step) lost() (Reason, bool) {
	switch l := s.Lock; {
	case s.overtaken:
		return ReasonLost, true
	case l.Owner == Nobody, l.Version.UID != s.Term.UID:
		return ReasonDeleted, true
	case l.Owner == Unowned:
		return ReasonCorrupt, true
	case l.Owner != Mine, l.Record.Token != s.Term.Token:
		return ReasonLost, true
	}
	return "", false
}

// noteBetters notes since when a member has been worth a move, and reports one with another preference.
func (s *step) noteBetters(found betters) {
	s.wakeAt(found.next)
	switch {
	case found.best == nil && found.divided != "":
		s.alarm(Divided, found.divided)
	case s.alarmed == Divided:
		s.alarmed = 0
	}
	switch {
	case found.best == nil:
		s.succession.betterSince = 0
	case s.succession.betterSince == 0:
		s.succession.betterSince = s.now
	}
}

// drainAt is when to drain for the better member: once it has been there for preemptDelay, and the term is
// old enough (rules living-terms-stay, no-flapping).
func (s *step) drainAt() record.Instant {
	if s.cfg.Preferred.Blocked != "" && s.cfg.Preferred.Blocked == s.cfg.Member.Revision {
		return s.succession.betterSince // a revision that was taken back gives way at once
	}
	t := s.cfg.Timing
	return max(s.succession.betterSince.Add(t.PreemptDelay), s.Term.Started.Add(t.MinHold))
}

// renew keeps the record ours, also while we claim or drain (rule stop-before-release).
func (s *step) renew() {
	if s.Lock.keptBySession() && !s.claimLasts() {
		return // the beats of our session keep it; but a claim is renewed through its record
	}
	if s.now < s.validity.renewAt {
		s.wakeAt(s.validity.renewAt)
		return
	}
	if s.waits(s.writableAt()) {
		return
	}
	r := s.held(s.Lock.Record.Token)
	r.Acquired, r.Mark.Falls = s.Lock.Record.Acquired, s.Lock.Record.Mark.Falls
	r.Claim = s.claimOfOurs()
	r.HandoverTo = s.Lock.Record.HandoverTo // rule forced-handover
	s.put(Renew, r)
}

// drain: the term is over. Its work is being stopped, then the lock is released.
func (s *step) drain() {
	if _, lost := s.lost(); lost {
		s.Drain.Lost = true
	}
	switch {
	case !s.Drain.Stopped:
		switch {
		case !s.Drain.Lost && s.cfg.Range:
			// Not renewed (range.go): the work is dead by the deadline, before others may take the lock.
		case !s.Drain.Lost:
			s.renew()
		case s.lastHolder() && s.mayBeForeign() && s.Lock.Version == s.Lock.streamed:
			s.reassert() // a read does not tell who has held the lock since the stream showed it
		}
	case s.Lock.Owner == Free:
		s.become(Following, ReasonReleased)
	case s.Drain.Lost:
		s.become(Following, ReasonNotHeld)
	case s.Drain.Reason == ReasonExpired && s.withdrawal.reason() == "":
		// We keep the lock: a new term may begin on it, or a release follow.
		s.become(Following, ReasonExpired)
	case s.now < s.heldBack():
		s.become(Following, s.Drain.Reason) // we keep it until nobody else can be at work
	default:
		s.release()
	}
}

// release gives the lock up and nominates who should take it (rule succession).
func (s *step) release() {
	if s.onlyRead() {
		s.awaitStream()
		return
	}
	if s.waits(s.releasableAt()) {
		return
	}
	r := s.held(s.Lock.Record.Token)
	r.Holder, r.Mark.Identity = "", ""
	r.Mark.Session, r.Mark.SessionUID = "", ""
	r.Duration = time.Second
	r.HandoverTo = s.nominee()
	r.History = remember(r.History, s.cfg.Member.Identity, released+s.whyReleased())
	s.validity.until = 0 // from here on another may hold it, seen by us or not
	s.put(Release, r)
}

// onlyRead says whether we know from a read alone that the lock is ours, and may have lost it in between: a read does not tell who has held
// it since the stream showed it (rule unknown-is-waited-out).
func (s *step) onlyRead() bool {
	return s.now >= s.validity.until && s.Lock.Version != s.Lock.streamed && !s.Lock.seamless
}

// whyReleased is the reason that the history gives for a release.
func (s *step) whyReleased() string {
	why := cmp.Or(s.withdrawal.reason(), s.Drain.Reason)
	if why == ReasonPreempted && s.Drain.Cause > priority.ByPolicy { // in a migration only the old lock's contest knows the cause
		return string(why) + ", " + s.Drain.Cause.String()
	}
	return string(why)
}

// nominee is the member that should take what we release. If we leave or failed, it is not us.
func (s *step) nominee() string {
	switch {
	case s.Drain.Reason == ReasonForced || s.withdrawal.reason() == ReasonForced:
		return s.forcedTo()
	case s.withdrawal.reason() != "" || s.Drain.Reason == ReasonFailed:
		return s.successor(s.cfg.Member.Identity)
	default:
		if better := s.better(); better != nil {
			return better.Identity
		}
		if s.Drain.Reason == ReasonYielded {
			return "" // all of us leave the lock to Istio's electors for a while
		}
		return s.successor()
	}
}
