package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// observe handles an observation of the lock.
func (s *step) observe(e Observed) {
	if s.ended {
		return
	}
	if !s.Lock.Seen {
		s.Lock.Seen = true
		s.continues(e)
		s.sight(e.Record, e.Version)
		if e.Record == nil && e.AbsentSince != 0 {
			s.Lock.absentSince = e.AbsentSince
		}
		s.streamed(e, s.Lock.Owner)
		return
	}
	known := s.Lock.Version
	switch {
	case e.Version.Revision == 0:
		// A read of an absent object has no version. It counts only if it was sent after our last sight:
		// nothing would ever correct a wrong absence.
		if e.Sent > s.Lock.at && s.Lock.Record != nil {
			s.sight(nil, record.Version{Revision: known.Revision})
			s.resolve()
			return
		}
		s.wonder()
		return
	case e.Version.Revision < known.Revision, e.Version.Revision == known.Revision && !s.isKnown(e):
		switch {
		case e.Source == Stream:
			s.skipped(e)
		case e.Sent > s.Lock.at:
			s.restored(e)
		case e.Source == List:
			// A read ran ahead of the list. Still, we did not see what changed between the break and the list.
			s.missed(e)
			s.skipped(e)
			s.read() // nothing else would tell of a restore
		default:
			s.wonder()
		}
		return
	case e.Version.Revision == known.Revision:
		s.Lock.at = s.now
		if e.Source == ReadBack {
			s.wonder()
			return
		}
		s.missed(e)
		s.caughtUp(e)
		s.streamed(e, s.Lock.Owner)
		return
	}
	s.missed(e)
	s.sight(e.Record, e.Version)
	if e.Source != ReadBack {
		s.streamed(e, s.Lock.Owner)
	}
	s.resolve()
}

// streamed notes what the stream or a list shows, and for whose we take it. A stranger may edit a mark after its beat. So we keep the
// mark that came with the beat (rule observers-clock).
func (s *step) streamed(e Observed, owner Owner) {
	k, r := &s.Lock, e.Record
	if was := k.shown; sameBoundBeat(r, was) && *r.Mark != *was.Mark {
		unedited := *r
		unedited.Mark = was.Mark
		r = &unedited
	}
	k.streamed, k.shown, k.shownForeign = e.Version, r, owner == Foreign
}

// caughtUp: the stream shows what a reply or a read had shown before. By now the stream has shown all older
// versions that it will ever show.
func (s *step) caughtUp(e Observed) {
	if s.source == Stream {
		s.asWritten(e.Record)
		if s.Lock.Owner == Foreign {
			s.foreignPutBack(e)
		}
	}
	switch s.Lock.Owner {
	case Other, Free:
		if !s.Lock.foreignRelease && e.Version != s.Lock.streamed {
			s.seeClaim(e.Record, e.Version)
		}
	case Unowned:
		s.sight(e.Record, e.Version) // it may be the release of a foreign holder
	}
}

// missed: a list may show a version that the stream did not. Then somebody may have held the lock in between, so waits begin anew.
// That a read showed the version does not help, since reads skip versions (rule unknown-is-waited-out). Call it before noting the new
// version.
func (s *step) missed(e Observed) {
	k := &s.Lock
	if e.Source != List || e.Version == k.streamed || s.isOurLast(e.Record, e.Version) {
		return
	}
	if k.Owner == Unowned || k.Owner == Nobody {
		k.since = s.now
	}
	k.absentSince = 0 // somebody may have created, taken and deleted the lock meanwhile
	newest := k.Owner
	if e.Version.Revision > k.Version.Revision {
		newest = s.ownerOf(e.Record, e.Version.UID)
	}
	if newest != Mine {
		s.validity.until = 0 // we were not necessarily its last holder
	}
	s.unheard() // a claim may be a new one from the same elector
	s.missedForeign(e)
	s.putBackUnseen(e)
}

// continues: the first sight of a machine that continues another one is like a list after a break. What an earlier claim told us still
// counts: nobody has stopped since. A record of our own is mostly a stray, or what we disowned: we release it, or take it back, at once,
// unless it is earlier than what we knew; or the same, and the lock is no longer certainly ours. Then a stranger may have put it back over
// the term of another member.
func (s *step) continues(e Observed) {
	k := &s.Lock
	switch {
	case k.streamed == (record.Version{}), k.streamed == e.Version:
	case s.ownerOf(e.Record, e.Version.UID) != Mine:
		s.missedForeign(e)
		s.putBackUnseen(e)
	case isPutBackOver(k.shown, e.Record), isBefore(e.Record, k.shown, k.streamed), s.now >= k.beatAt && k.shown != nil && sameBoundBeat(k.shown, e.Record):
		s.undone(k.duration)
	}
}

// wonder paces writes if a sight shows the object unchanged although the store rejected a write that was
// conditional on just that version.
func (s *step) wonder() {
	if s.writes.baffled {
		s.backOff(0)
	}
}

// sight records the object, or its absence, as what we know of the lock, and begins the waits that follow
// from the change.
func (s *step) sight(r *record.Record, v record.Version) {
	before, owner := s.Lock, s.ownerOf(r, v.UID)
	k := &s.Lock
	if owner == Foreign {
		s.robbed()
	} else if r != nil {
		s.putBack(r, owner)
	}
	k.foreignRelease = owner == Unowned && s.releasedByForeign(r, v)
	if k.foreignRelease {
		owner = Free
	}
	k.Record, k.Version, k.Owner, k.at = r, v, owner, s.now
	k.seamless = k.seamless && v == before.Version
	k.unheeded = k.unheeded && sameRequest(before.Record, r)
	s.writes.baffled = false
	if before.Record == nil || r == nil || before.Record.Mark == nil || r.Mark == nil || !sameBeat(before.Record, r) {
		k.beatAt = s.now
	}

	sameObject := before.Record != nil && r != nil && before.Version.UID == v.UID
	switch owner {
	case Mine, Other, Orphaned:
		// Rule observers-clock: only a new beat of the holder is a change, and a duration counts only
		// with it. If the holder's session came or went, the owner changes, but the beat does not.
		if beaten := !sameObject || !before.held() || !sameBeat(before.Record, r); beaten || before.Owner != owner {
			k.changedAt, k.since = s.now, s.now
			if owner == Orphaned {
				k.since = max(k.since, s.spared(r))
			}
			if beaten {
				k.duration = s.leaseOf(r)
				k.beaten = r
				s.seeClaim(r, v)
			}
		}
	case Free:
		if k.foreignRelease {
			if !before.foreignRelease {
				k.since = s.now
				s.foreignReleased(before.shown, r)
			}
			break
		}
		if !sameObject || before.Owner != Free || before.foreignRelease || !sameBeat(before.Record, r) {
			k.since = s.now
			k.duration = r.Mark.Duration
			s.seeClaim(r, v)
			s.leaves(r)
		}
	case Foreign:
		if !sameObject || before.Owner != Foreign || !sameForeignBeat(before.Record, r) {
			k.changedAt = s.now
			k.duration = foreignDuration(r)
			known := before.Record
			if !sameObject {
				known = nil
			}
			s.seeForeign(r, known)
		}
	case Nobody:
		if before.Owner != Nobody {
			k.since = s.now
		}
		if k.absentSince == 0 {
			k.absentSince = s.now
		}
	case Unowned:
		// Rule unknown-is-waited-out: another uid or an owner in between starts the wait anew; strangers'
		// edits do not.
		unseen := s.ofUnknownSession(r)
		if !sameObject || before.Owner != Unowned || unseen != s.ofUnknownSession(before.Record) || unseen && !sameBeat(before.Record, r) {
			k.since = s.now
		}
		if unseen {
			k.duration, k.beaten = s.beside(r).Duration, k.firstSeen(r)
		}
		if r.Holder != "" && r.Mark == nil && r.Unreadable == "" && !sameObject { // it may be an elector that is not ours
			k.duration = max(k.duration, min(foreignDuration(r), foreignMaxDuration))
		}
	}
	if r != nil && !r.Untouched() {
		k.absentSince = 0 // somebody has held it since it was created
	}
	if owner == Other {
		s.succession.forgive(r.Holder)
		if sameObject {
			s.turnTaken(before, r)
		}
	}
	if owner != Foreign || before.Owner != Foreign || before.Record.Holder != r.Holder || before.Record.Transitions != r.Transitions {
		s.notOutranking()
	}
	if owner == Other || owner == Orphaned || owner == Foreign || owner == Free {
		s.validity.until = 0 // we are no longer the last holder
	}
	if owner != before.Owner {
		s.alarmed = 0
	}
}

// skipped handles a version that the stream shows after a read or a reply showed a newer one. It is history, but an owner in it may
// still be at work, so the waits begin that the version began for those who saw it in time (rule unknown-is-waited-out).
func (s *step) skipped(e Observed) {
	k := &s.Lock
	if e.Version.Revision <= k.streamed.Revision {
		return
	}
	if e.Record != nil && !e.Record.Untouched() {
		k.absentSince = 0
	}
	owner, was, r := s.ownerOf(e.Record, e.Version.UID), k.shown, e.Record
	defer s.streamed(e, owner)
	s.asWritten(r)
	held := s.mayBeAtWork(was, k.streamed.UID)
	if (held || was != nil && was.Released()) && (r == nil || !r.Bound()) || held && isPutBack(was, r) {
		s.undone(was.Mark.Duration)
	}
	if s.mayBeAtWork(r, e.Version.UID) && (k.Record == nil || !k.Record.Bound() || isPutBack(r, k.Record)) {
		s.undone(r.Mark.Duration)
	}
	s.overtaken = owner == Other || owner == Foreign || owner == Orphaned || owner == Unowned && s.ofUnknownSession(r)
	duration := time.Duration(0)
	switch owner {
	case Other, Free:
		duration = r.Mark.Duration
		s.seeClaim(r, e.Version)
		if owner == Free && k.Owner == Other {
			k.changedAt = s.now // it is held anew
		}
	case Foreign:
		duration = foreignDuration(r)
		if was == nil || !k.shownForeign && s.ownerOf(was, k.streamed.UID) == Unowned {
			s.robbed() // what was before has no owner that we know
		}
		s.foreignPutBack(e)
		s.seeForeign(r, nil)
	case Orphaned: // it has certainly stopped
		s.validity.until = 0
		return
	default:
		if !s.ofUnknownSession(r) {
			return
		}
		duration = r.Mark.Duration
	}
	s.validity.until = 0
	if k.Owner == Unowned || k.Owner == Nobody {
		k.since, k.duration = s.now, duration
	}
}

// asWritten: the stream shows r. If it has not shown that beat before, but a read did, a stranger may have edited it before we read it.
func (s *step) asWritten(r *record.Record) {
	if k := &s.Lock; sameBoundBeat(r, k.Record) && !sameBoundBeat(r, k.shown) {
		k.duration, k.beaten = r.Mark.Duration, r // now as it was written
	}
}

// mayBeAtWork says whether a record names another member that may be at work now.
func (s *step) mayBeAtWork(r *record.Record, uid string) bool {
	if r == nil || r.Holder == "" || !r.Bound() {
		return false
	}
	owner := s.ownerOf(r, uid)
	return owner == Other || owner == Unowned
}

// robbed: a foreign elector holds the lock. If it did not wait until the former owner, one of us, had
// certainly stopped, we do. What a break hid, or a read skipped, may be renewals of that owner, or another owner.
func (s *step) robbed() {
	t, l := s.observer(), s.Lock
	wait := t.ObserverWait(max(t.LeaseDuration, min(l.duration, foreignMaxDuration)))
	last := func(seen record.Instant) record.Instant {
		if s.source != Stream {
			return s.now
		}
		return seen
	}
	switch l.Owner {
	case Orphaned:
		s.worksUntil(l.since) // what the dead handed on
	case Other:
		from := last(l.changedAt)
		if l.Record.Mark.Renewal == record.RenewalSession {
			from, wait = s.now, t.ObserverWait(t.LeaseDuration) // its session's age is not known here
		}
		s.worksUntil(from.Add(wait))
	case Unowned, Nobody:
		since := last(l.since)
		switch {
		case s.cfg.Bootstrap == BootstrapImmediate && (l.Owner == Nobody || l.Record.Untouched()):
			return
		case s.ofUnknownSession(l.Record):
			since = s.now // its session may live
		}
		s.worksUntil(since.Add(wait))
		s.suspectUnknown(since)
	}
}

// leaseOf is how long the lease of a new beat counts. The stream shows a beat as it was written. A list or a read may show it after a
// stranger shortened it. Then the longest counts: this duration, the longest lease that members publish, and what the same holder said
// before. The stream corrects that when it shows this beat as it was written, or the next one.
func (s *step) leaseOf(r *record.Record) time.Duration {
	d, l := r.Mark.Duration, &s.Lock
	if s.source == Stream {
		return d
	}
	if was := l.beaten; was != nil && was.Mark.Identity == r.Mark.Identity {
		d = max(d, min(l.duration, foreignMaxDuration))
	}
	return max(d, s.observer().LeaseDuration)
}

// sameBoundBeat says whether both records are bound and show the same beat; either may be nil.
func sameBoundBeat(a, b *record.Record) bool {
	return a != nil && a.Bound() && b != nil && b.Bound() && sameBeat(a, b)
}

func sameBeat(a, b *record.Record) bool {
	return a.Mark.Identity == b.Mark.Identity && a.Mark.Transitions == b.Mark.Transitions && a.Mark.Beat == b.Mark.Beat
}

func sameForeignBeat(a, b *record.Record) bool {
	return a.Holder == b.Holder && a.Transitions == b.Transitions &&
		a.Renewed.Equal(b.Renewed) && a.Acquired.Equal(b.Acquired)
}

// isKnown says whether the observation, of the revision that we know, shows what we know. A restored store
// gives its revisions a second time: another write may then have the very version of one that we saw.
func (s *step) isKnown(e Observed) bool {
	a, b := s.Lock.Record, e.Record
	switch {
	case e.Version != s.Lock.Version || (a == nil) != (b == nil):
		return false
	case a == nil || a == b:
		return true
	case a.Mark != nil && b.Mark != nil && !sameBeat(a, b):
		return false
	}
	return a.Holder == b.Holder && a.Token == b.Token && a.Transitions == b.Transitions && (a.Mark == nil) == (b.Mark == nil)
}

// restored: a consistent read shows an earlier state than we knew. So the store was reset to a backup, and
// nothing that we know is true (rule newer-by-version).
func (s *step) restored(e Observed) {
	s.act(EndSession{Reason: ReasonRestored, NotBefore: s.wholeLease(s.Lock.duration)})
	s.setBack(e.Record, e.Version)
	if s.withdrawal.leaving == "" {
		s.withdrawal.leaving, s.withdrawal.since = ReasonRestored, s.now
	}
}

// setBack: the store was reset. We act on nothing that we see from here on, and write nothing: this incarnation only stops its
// work. A release would free the lock at once for members that do not know of the reset, while the holder that it hides is at work.
func (s *step) setBack(r *record.Record, v record.Version) {
	s.ended = true
	s.Lock = Lock{Seen: true, Record: r, Version: v, Owner: Unowned, at: s.now, since: s.now}
	s.writes.open = nil
	s.validity.until = 0
	if s.Role == Leading {
		s.stop(ReasonRestored)
	}
	s.Drain.Lost = true
}

// Ended says whether this machine writes nothing any more.
func (s *State) Ended() bool { return s.ended }
