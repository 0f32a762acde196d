package machine

import (
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// follow: no term of ours. Wait until the lock is free for certain, and for our turn.
func (s *step) follow() {
	if !s.Lock.Seen || s.withdrawal.ended {
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
			s.wakeAt(s.heldBack()) // from when on it is released after all, if we still are there
		}
		return
	}
	if s.withdrawal.reason() != "" {
		s.notOutranking()
		return
	}
	if s.Lock.Owner == Nobody {
		// Rule tokens-rise: created empty, by anyone, at once. Waited out under its uid, so it
		// does no harm where what we saw is no longer true.
		if !s.waits(s.writableAt()) {
			s.put(Create, record.Record{Group: s.cfg.Group, Election: s.cfg.Election})
		}
		return
	}
	s.sightless = s.seemsOrphaned()
	s.noteOwner()
	free, ok := s.freeAt()
	if !ok {
		return
	}
	if s.Lock.Owner != Foreign {
		free = max(free, s.foreign.robbedUntil)
	}
	left := s.leftToIstio(free)
	s.turnGone(max(free, left))
	at := max(free.Add(s.turn()), s.cfg.NotBefore, s.standing.pausedUntil, left)
	if s.Lock.Owner == Other {
		at = max(at, s.cfg.HolderFirst) // what it released is not its any more
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

// dependsOnSessions says whether our wait for the owner went by what the sessions say: of the owner
// itself, or, where they have a stream of their own, of how long others' leases last.
func (s *step) dependsOnSessions() bool {
	switch {
	case s.Lock.Owner != Unowned:
		return false
	case s.ofUnknownSession(s.Lock.Record):
		return true
	case !s.waitedOut():
		return false
	}
	return s.cfg.Sight == ApartFromSessions
}

// answerFor: the record names us, by our own hand, but no term is on: a take of unknown
// outcome that was committed after all, or a term that expired while nobody else came.
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

// noteOwner tells of an owner that people may have to look at, and notes whether we outrank it.
func (s *step) noteOwner() {
	switch l := s.Lock; {
	case l.Owner == Foreign && l.duration > foreignMaxDuration:
		s.alarm(ForeignTooLong, l.Record.Holder)
	case l.Owner == Foreign:
		s.alarm(ForeignHolder, l.Record.Holder)
		s.noteOutranked()
	case l.Owner == Unowned && s.waitedOut() && !s.seemsOrphaned():
		s.alarm(Ownerless, ownerless(l.Record))
	}
}

// observer is the timing by which we wait for others.
func (s *step) observer() record.Timing { return s.cfg.Timing.Among(s.cfg.Others) }

// awaitStream waits until the stream shows the version that a reply or a read showed. If
// it does not, a read tells whether the stream is slow or the store was restored.
func (s *step) awaitStream() {
	if at := max(s.Lock.at.Add(s.cfg.Timing.LeaseDuration), s.writes.retryAt); s.now < at {
		s.wakeAt(at)
		return
	}
	s.read()
}

// take asks for the write that a term can start on.
func (s *step) take() {
	if s.Lock.Version != s.Lock.streamed {
		s.awaitStream()
		return
	}
	if s.waits(s.writableAt()) {
		return
	}
	if s.throughSession() && !s.sessionHolds() {
		s.sightless = true // the next beat that is seen brings us back
		return
	}
	l := s.Lock.Record
	r := s.held(s.nextToken())
	if s.Lock.Owner != Mine { // another incarnation of our name is another holder
		r.Transitions = record.NextTransitions(r.Transitions)
		r.Mark.Transitions = r.Transitions
	}
	r.History = remember(l.History, r.Holder, tookOver+s.Lock.Owner.String())
	if s.Lock.Owner == Foreign || s.claimLasts() {
		r.Claim = s.claim()
		s.put(Claim, r)
		return
	}
	if s.throughSession() {
		s.cfg.Beat.keep(&r)
	}
	s.put(Take, r)
}
