package machine

import (
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// follow: we have no term. Wait until the lock is certainly free, and for our turn.
func (s *step) follow() {
	if !s.Lock.Seen || s.ended {
		return
	}
	if s.Lock.Owner == Mine {
		switch {
		case s.now >= s.heldBack():
			s.answerFor()
		case !s.abandons():
			s.become(Claiming, ReasonClaimed)
			s.claiming()
		default:
			s.wakeAt(s.heldBack()) // then we release it after all, if we are still there
		}
		return
	}
	if s.withdrawal.reason() != "" {
		s.notOutranking()
		return
	}
	if s.Lock.Owner == Nobody {
		// Rule tokens-rise: anyone creates it at once, without a holder. All then wait it out under its
		// uid, so it does no harm if we create it because we last saw an older state.
		if !s.waits(s.writableAt()) {
			s.put(Create, record.Record{Group: s.cfg.Group, Election: s.cfg.Election})
		}
		return
	}
	s.sightless = s.seemsOrphaned()
	s.noteOwner()
	if s.cfg.Preferred.NoTakeover {
		s.Lock.withheld = true // the end of it changes the preference, which steps us again
		return
	}
	s.noLongerWithheld()
	free, ok := s.freeAt()
	if !ok {
		if s.renewedUnseen() {
			s.awaitStream() // nothing else would tell of a restored store
		}
		return
	}
	if s.Lock.Owner != Foreign {
		free = max(free, s.foreign.robbedUntil())
	}
	left := s.leftToIstio(free)
	s.turnGone(max(free, left))
	at := max(free.Add(s.turn()), s.cfg.NotBefore, s.standing.pausedUntil, left)
	if s.Lock.Owner == Other {
		at = max(at, s.cfg.HolderFirst)
	}
	if s.Lock.Owner != Free || s.Lock.foreignRelease {
		at = max(at, s.cfg.HeldOff)
	}
	switch {
	case s.now < at:
		s.wakeAt(at)
	case s.dependsOnSessions() && !s.proven(free):
		s.sightless = true
	default:
		s.take()
	}
}

// noLongerWithheld counts a lock that nobody was to take as released now, or as expired if it has expired, so that whose turn it is has the
// whole of it (rule no-takeover). It only lengthens waits.
func (s *step) noLongerWithheld() {
	if !s.Lock.withheld {
		return
	}
	s.Lock.withheld = false
	switch s.Lock.Owner {
	case Free, Orphaned, Other:
		s.Lock.since = max(s.Lock.since, s.now)
	}
}

// dependsOnSessions says whether the length of our wait depended on the sessions: on the owner's session,
// or, if the sessions have a stream of their own, on the leaseDurations that the others publish there.
func (s *step) dependsOnSessions() bool {
	switch {
	case s.Lock.Owner != Unowned:
		return false
	case s.ofUnknownSession(s.Lock.Record):
		return true
	case !s.waitedOut():
		return false
	}
	return s.cfg.Sight != WithSessions
}

// answerFor: we wrote the record as its holder, but have no term. A take of unknown outcome was committed
// after all, or a term expired and nobody else came.
func (s *step) answerFor() {
	switch {
	case s.withdrawal.reason() != "" || s.better() != nil:
		s.Drain.Reason = ReasonReleased
		s.release()
		return
	case s.preferredElsewhere() && s.now < s.stealsUntil(s.preferredSince):
		s.Drain.Reason = ReasonYielded
		s.release()
		return
	}
	s.take()
}

// noteOwner reports an owner that people may have to look at, and notes whether we outrank it.
func (s *step) noteOwner() {
	switch l := s.Lock; {
	case l.Owner == Foreign && l.duration > foreignMaxDuration:
		s.alarm(ForeignTooLong, l.Record.Holder)
	case l.Owner == Foreign:
		s.alarm(ForeignHolder, l.Record.Holder)
		s.noteOutranked()
	case l.Owner == Unowned && s.waitedOut() && !s.seemsOrphaned() && s.alarmed != Ownerless:
		s.alarmed = Ownerless
		until, _ := s.freeAt()
		s.act(Report{Kind: Ownerless, Role: s.Role, Detail: s.ownerless(l.Record), Until: until})
	}
}

// observer is the timing by which we wait for others.
func (s *step) observer() record.Timing { return s.cfg.Timing.Among(s.cfg.Others) }

// awaitStream waits until the stream shows the version that a reply or a read showed. If
// it does not, a read tells whether the stream is slow or the store was restored, and the driver begins the stream anew.
func (s *step) awaitStream() {
	if at := max(s.Lock.at.Add(s.cfg.Timing.LeaseDuration), s.writes.retryAt); s.now < at {
		s.wakeAt(at)
		return
	}
	s.ask(Read{Behind: s.Behind()})
}

// take requests the write that can start a term.
func (s *step) take() {
	if s.Lock.Version != s.Lock.streamed {
		s.awaitStream()
		return
	}
	if s.waits(s.writableAt()) {
		return
	}
	if s.throughSession() && !s.sessionHolds() || s.cfg.Unpublished {
		s.sightless = true // we try again with the next beat that we see
		return
	}
	l := s.Lock.Record
	r := s.held(s.nextToken())
	if s.Lock.Owner != Mine { // another incarnation of our name is another holder
		r.Transitions = record.NextTransitions(r.Transitions)
		r.Mark.Transitions = r.Transitions
	}
	r.Mark.Falls = s.falls()
	r.History = remember(l.History, r.Holder, tookOver+s.Lock.Owner.String())
	if s.Lock.Owner == Foreign || s.now < s.heldBack() { // no term may begin yet
		if s.Lock.Owner == Foreign || s.claimLasts() {
			r.Claim = s.claim()
		}
		s.put(Claim, r)
		return
	}
	if s.throughSession() {
		s.cfg.Beat.keep(&r)
	}
	s.put(Take, r)
}
