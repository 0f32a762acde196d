package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A stranger may put a lock back as it was in an earlier term: from a backup, or with an editor that stayed open. To members that
// did not see the later terms it looks like any other record of ours. Those that did wait until the holder that they saw has
// certainly stopped, whatever the record says now (rules loss-is-definite, unknown-is-waited-out).

// putBack is called before we note that the lock is r now, which is not a foreign elector's. It sets a wait if r cannot, or need
// not, follow from what we know: a member that is at work may have held the lock in between.
func (s *step) putBack(r *record.Record, owner Owner) {
	l := &s.Lock
	if l.Record != nil && r.Holder != l.Record.Holder {
		s.sessionGone(l.Record)
	}
	switch {
	case owner == Unowned && !s.ofUnknownSession(r) && (s.cfg.Bootstrap != BootstrapImmediate || !r.Untouched()):
		// A wait of its own begins, or goes on.
	case s.takes(r):
	case s.withoutOwner():
		s.worksUntil(s.membersGone()) // whatever takes its place, the wait goes on
		s.suspectUnknown(l.since)
	case l.Record == nil || l.Owner == Foreign || !isPutBack(l.Record, r):
	case l.Owner == Other || l.Owner == Unowned:
		s.undone(l.duration)
	case l.Owner == Orphaned:
		s.worksUntil(l.since) // what the dead handed on
	}
}

// undone: a stranger undid a member's write. We wait for that member for the duration. Members that come later may believe the present
// record, so a record of theirs without a claim ends no other wait.
func (s *step) undone(duration time.Duration) {
	s.worksUntil(s.wholeLease(duration))
	s.keepTold()
}

// takes says whether the stream shows r right after the version that we know, and r is a take of just that version. Who took it
// had waited, maybe since before we came. The token of an earlier record is lower than any later version (rule tokens-rise).
func (s *step) takes(r *record.Record) bool {
	l := &s.Lock
	return s.source == Stream && l.Record != nil && r.Holder != "" &&
		r.Transitions == record.NextTransitions(l.Record.Transitions) && r.Token >= record.Token(l.Version.Revision)
}

// putBackUnseen does for a break of the stream what putBack does for a version that the stream shows. If the list does not show a later
// beat than the stream did, or than reads did meanwhile, another member may have taken the lock, and a stranger put it back as we know
// it. So may a foreign elector.
func (s *step) putBackUnseen(e Observed) {
	l, r := &s.Lock, e.Record
	if r == nil || !r.Bound() {
		return
	}
	ours := s.ownerOf(r, e.Version.UID) == Mine
	switch was := l.shown; {
	case ours && !s.inTerm(), was == nil, !was.Bound() && r.Claim == nil, isNoLater(was, r):
	case (l.Version != e.Version || l.Owner == Other) && isNoLater(l.Record, r):
	default:
		return
	}
	s.undone(l.duration)
	if s.mayBeForeign() && !s.beforeTerm(e.Version) && !(ours && s.inTerm()) {
		s.suspectUnseen(s.now)
	}
}

// isOurLast says whether a version of the lock is the last write of ours, made onto what the stream had shown. While the write has no
// answer we know only its beat: a copy of it that a stranger put back passes, too, for as long as no member can have taken the lock.
func (s *step) isOurLast(r *record.Record, v record.Version) bool {
	return s.ownerOf(r, v.UID) == Mine && (s.Lock.seamless && v == s.Lock.Version || s.writes.openSeamless(r.Mark.Beat, s.now.Add(-s.cfg.Timing.Validity())))
}

// isBefore says whether r is earlier than a version of the lock that showed the record was, which tells of no term. A take of that
// version, or of a later one, has a higher token (rule tokens-rise).
func isBefore(r, was *record.Record, v record.Version) bool {
	return (was == nil || !was.Bound()) && r.Token < record.Token(v.Revision)
}

// isNoLater says whether r, which is bound, shows the beat of before, or was put back in place of it.
func isNoLater(before, r *record.Record) bool {
	return sameBoundBeat(before, r) || isPutBackOver(before, r)
}

// isPutBackOver says whether r, which is bound, was put back in place of a record of ours.
func isPutBackOver(before, r *record.Record) bool {
	return before != nil && before.Bound() && isPutBack(before, r)
}

// withoutOwner says whether the lock has no owner that we know, but may have had one: it is absent, or Unowned without the mark of an
// unknown session. With bootstrap: immediate an absent lock never had one.
func (s *step) withoutOwner() bool {
	l := &s.Lock
	return l.Owner == Nobody && s.cfg.Bootstrap != BootstrapImmediate || l.Owner == Unowned && !s.ofUnknownSession(l.Record)
}

// membersGone is when no member of ours can be at work any more that held a lock which has no owner, and needs no session that we
// don't see; zero for nobody.
func (s *step) membersGone() record.Instant {
	l := &s.Lock
	if l.Owner == Unowned && !s.waitedOut() {
		return 0
	}
	at := l.since.Add(s.observer().ObserverWait(max(s.observer().LeaseDuration, min(l.duration, foreignMaxDuration))))
	if proven, is := s.absentLongEnough(); is {
		at = min(at, proven)
	}
	return at
}

// isPutBack says whether a stranger put r, which is bound, in place of a record of a member of ours, which may be at work: an
// earlier record, or one that names another member. A take by another raises the token and the number of transitions; a stranger may
// have set the latter back. A member that takes a lock which it still holds raises only the token.
func isPutBack(before, r *record.Record) bool {
	switch {
	case r.Token < before.Token || r.Transitions < before.Transitions:
		return true
	case r.Token > before.Token && r.Transitions > before.Transitions:
		return false
	case r.Token > before.Token && r.Holder == "" && before.Claim == nil:
		return true // the release of another term; but the term of a claimer begins with a token of its own
	}
	return r.Holder != "" && (r.Holder != before.Holder || before.Mark != nil && r.Mark.Beat < before.Mark.Beat)
}

// wholeLease is when a holder of ours has certainly stopped if it renewed the lock a moment ago, for the duration.
func (s *step) wholeLease(duration time.Duration) record.Instant {
	return s.now.Add(s.observer().ObserverWait(max(s.observer().LeaseDuration, min(duration, foreignMaxDuration))))
}
