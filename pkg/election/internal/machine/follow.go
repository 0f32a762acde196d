package machine

import (
	"fmt"
	"slices"
	"time"

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

// freeAt is when the lock may be taken by the first in line, once it is decided on what
// the stream showed; false while that cannot be told.
func (s *step) freeAt() (record.Instant, bool) {
	t, l := s.cfg.Timing, s.Lock
	switch l.Owner {
	case Free:
		return l.since, true
	case Orphaned:
		return l.since, true
	case Other:
		if s.beside(l.Record).Renewal == record.RenewalSession {
			return 0, false // it lasts for as long as its session does
		}
		return l.changedAt.Add(s.observer().ObserverWait(l.duration)), true // rule observers-clock
	case Foreign:
		// What is taken from a foreign holder is a claim first (rule claim-and-wait).
		if l.duration > foreignMaxDuration {
			return 0, false
		}
		expired := l.changedAt.Add(s.observer().ObserverWait(max(l.duration, t.LeaseDuration)))
		if at, outranked := s.foreignMayGoAt(); outranked {
			return min(expired, at), true
		}
		return expired, true
	default: // Unowned: rule unknown-is-waited-out
		if !s.waitedOut() {
			return l.since, true
		}
		wait := max(s.observer().LeaseDuration, l.duration) // who held it may have the longer one
		if s.mayBeForeign() {
			wait = max(2*max(s.leastForeign(), min(l.duration, foreignMaxDuration)), s.cfg.Foreign.Wait)
		}
		return l.since.Add(s.observer().ObserverWait(wait)), true
	}
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

// waitedOut says whether a lock without an owner is waited out, rather than taken at once.
func (s *step) waitedOut() bool {
	return !s.lastHolder() && !(s.cfg.Bootstrap == BootstrapImmediate && s.Lock.Record.Untouched())
}

// observer is the timing by which we wait for others.
func (s *step) observer() record.Timing { return s.cfg.Timing.Among(s.cfg.Others) }

// lastHolder says whether the lock lost its owner while it was validly ours: until that
// validity ends nobody else can have taken it.
func (s *step) lastHolder() bool { return s.Lock.Owner == Unowned && s.now < s.validity.until }

// foreignMaxDuration is the longest duration of a foreign holder that is waited out
// without an operator.
const foreignMaxDuration = time.Hour

func ownerless(r *record.Record) string {
	switch {
	case r.Unreadable != "":
		return r.Unreadable
	case r.Untouched():
		return "just created"
	case r.Mark == nil:
		return fmt.Sprintf("holder %q without a mark of ours", r.Holder)
	case r.Bound():
		return fmt.Sprintf("holder %q, whose session %q is unknown", r.Holder, r.Mark.Session)
	}
	return fmt.Sprintf("holder %q, but our mark is for %q", r.Holder, r.Mark.Identity)
}

// turn is how long this member leaves the free lock to those before it (rule succession).
func (s *step) turn() time.Duration {
	t, l := s.cfg.Timing, s.Lock
	me, former := s.cfg.Member.Identity, l.Record.Holder
	if l.Owner == Free && !l.foreignRelease {
		former = l.Record.HandoverTo
		switch nominee := l.Record.HandoverTo; {
		case nominee == me:
			return 0
		case nominee == "":
			return time.Duration(s.jitter * float64(t.NominateDelay))
		case s.mayCome(nominee):
			return t.NominateDelay
		}
	}
	if s.lastHolder() {
		return 0
	}
	switch place := s.place(former); {
	case l.Owner == Unowned:
		// Each waits from its own first sight, so those before us may have to wait for longer.
		return min(time.Duration(place), 1) * t.NominateDelay
	case place < lastPlace:
		return time.Duration(place) * t.NominateDelay
	}
	return lastPlace*t.NominateDelay + time.Duration(s.jitter*float64(t.NominateDelay))
}

// mayCome says whether to wait for a nominee: it lives and says that it is ready. A member that leaves
// says that it is not.
func (s *step) mayCome(nominee string) bool {
	return slices.ContainsFunc(s.View.Peers, func(p Peer) bool { return p.Identity == nominee && p.Ready })
}

// lastPlace is the one in line that all who come later share, so that the delay has a bound.
// Those before it come one by one: who does not take part in the election, or does not
// answer, costs one nominateDelay.
const lastPlace = 2

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
