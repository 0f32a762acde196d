package machine

import (
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Lock is what we know of the lock object.
type Lock struct {
	Owner Owner
	// Seen says whether a list or a stream has shown the lock, or its absence, at all.
	Seen bool
	// foreignRelease: it is free because a foreign holder released it.
	foreignRelease bool
	// shared: an elector that is not ours was seen to hold it.
	shared bool
	// withheld: we left it alone because of Preferred.NoTakeover.
	withheld bool
	// unheeded: we reported that we do not obey the request in its record (rule forced-handover).
	unheeded bool
	// seamless: the version that we know is a write of ours, and the stream or our own writes had shown all that was before it.
	seamless bool
	// shownForeign: we took the owner of shown for a foreign one when the stream showed it.
	shownForeign bool
	// Record is nil when there is no object.
	Record  *record.Record
	Version record.Version

	// streamed is the version that the stream showed last (rule unknown-is-waited-out), and shown is that version's record, with the
	// mark as it was when the stream first showed its beat. A machine that continues another one begins with the latest version that the
	// other one knew by the stream or a reply, or with another's term that it knew by a read.
	streamed record.Version
	shown    *record.Record
	// at is when the last observation came in.
	at record.Instant
	// changedAt is when the last beat of the holder came in (rule observers-clock).
	changedAt record.Instant
	// beatAt is when we first saw the present beat, whoever owns the lock. Before we saw the lock it is until when the lock was
	// certainly ours, by what the machine before this one knew: each election has a Lock, so it has no field more for that.
	beatAt record.Instant
	// since is when we first saw the present condition: this release, the end of this holder's session, or
	// this lack of an owner. With OnDeathLease it is a lease later than that (spared).
	since record.Instant
	// absentSince is since when the stream has shown, without a break, that the lock is absent, or is as a
	// create leaves it; zero if it has not (rule absence-counts).
	absentSince record.Instant
	// beaten is the record as it was when we first saw its present beat: the fields that say what keeps it
	// alive count only as written together with a beat (rule observers-clock).
	beaten *record.Record
	// duration is the last one that a bound record, or a foreign holder, showed together with a new beat.
	duration time.Duration
}

// Owner is whose the lock is.
type Owner uint8

const (
	// Nobody: there is no object.
	Nobody Owner = iota + 1
	// Free: a member of ours released it, by a bound mark, or a foreign holder was seen
	// to release it.
	Free
	// Mine: this incarnation wrote it.
	Mine
	// Other: a member of ours holds it, or held it until it died.
	Other
	// Orphaned: a member of ours held it through its session, which has ended, or a proof of its death freed it
	// (freedByProof).
	Orphaned
	// Foreign: an elector that is not ours holds it.
	Foreign
	// Unowned: everything else. We wait it out (rule unknown-is-waited-out).
	Unowned
)

// Duration is the last duration that a bound record, or a foreign holder, showed together with a new beat.
func (l *Lock) Duration() time.Duration { return l.duration }

// AbsentSince is since when the stream has shown, without a break, that the lock is absent or that nobody has
// held it since it was created; zero if it has not.
func (l *Lock) AbsentSince() record.Instant { return l.absentSince }

// ThroughSession says whether the session of the lock's holder keeps the lock alive, by the record as it was
// when we first saw the holder's beat (rule observers-clock).
func (l *Lock) ThroughSession() bool {
	return l.firstSeen(l.Record).ThroughSession()
}

// keptBySession says whether our session keeps a lock of ours alive. Members that saw the record's beat at
// once rely on the record as it was then; members that came later rely on the record as it is now. If a
// stranger changed it in between, we renew the record ourselves, which serves all of them.
func (l *Lock) keptBySession() bool { return l.ThroughSession() && l.Record.ThroughSession() }

// SeenForeign says whether an elector that is not ours has held the lock, or a stranger made its record look so.
func (l *Lock) SeenForeign() bool { return l.shared }

// Behind says whether the stream has not shown the lock as we know it, or not at all. We take nothing then.
func (s *State) Behind() bool { return !s.Lock.Seen || s.Lock.Version != s.Lock.streamed }

// LastSign is when we last saw the holder live, or when we saw the lock become free or lose its owner.
func (l *Lock) LastSign() record.Instant {
	if l.Owner == Other || l.Owner == Foreign {
		return l.changedAt
	}
	return l.since
}

func (o Owner) String() string {
	switch o {
	case Nobody:
		return "absent"
	case Free:
		return "free"
	case Mine:
		return "mine"
	case Other:
		return "held"
	case Orphaned:
		return "orphaned"
	case Foreign:
		return "foreign"
	case Unowned:
		return "unowned"
	}
	return fmt.Sprintf("Owner(%d)", int(o))
}

// held says whether a member of ours holds the lock, or held it through its session.
func (l *Lock) held() bool {
	return l.Owner == Mine || l.Owner == Other || l.Owner == Orphaned ||
		l.Owner == Unowned && l.Record.Holder != "" && l.Record.Bound()
}

// ownerOf says who owns the lock with the given uid, by its record r.
func (s *step) ownerOf(r *record.Record, uid string) Owner {
	switch {
	case r == nil:
		return Nobody
	case r.Holder == "" && r.Bound():
		return Free
	case r.Holder != "" && r.Bound():
		return s.boundTo(r, uid)
	case r.Holder != "" && (!record.OurForm(r.Holder) || s.renewedUnmarked(r, uid)):
		// Our annotations under a foreign name mean nothing (rules claim-and-wait, bound-to-the-holder).
		return Foreign
	}
	return Unowned
}

// renewedUnmarked says whether somebody else renewed the lock, or took it, without our mark: an elector that is not ours, though its
// name has the form of ours. A stranger who edits a member's record leaves its time as it is, or writes nonsense. If the mark is
// unreadable, only a later time tells of an elector, and only if the mark was unreadable before: otherwise a member may have written
// both.
func (s *step) renewedUnmarked(r *record.Record, uid string) bool {
	was := s.Lock.Record
	switch {
	case r.Holder == s.cfg.Member.Identity || was == nil || s.Lock.Version.UID != uid:
		return false
	case s.Lock.Owner == Foreign && was.Holder == r.Holder:
		return true
	case r.Unreadable == "" && r.Holder != was.Holder && r.Transitions > was.Transitions: // a take in the same second; a ConfigMap says no more
		return true
	case r.Unreadable != "":
		return was.Unreadable != "" && r.Renewed.After(was.Renewed)
	}
	return !r.Renewed.Equal(was.Renewed) && record.Believable(r.Renewed)
}

// freeAt is when the first in line may take the lock, by what the stream showed; false while that cannot be
// told.
func (s *step) freeAt() (record.Instant, bool) {
	t, l := s.cfg.Timing, s.Lock
	switch l.Owner {
	case Free:
		return l.since, true
	case Orphaned:
		return l.since.Add(s.recovery()), true
	case Other:
		if s.beside(l.Record).Renewal == record.RenewalSession {
			return 0, false // it lasts for as long as its holder's session does
		}
		expired := l.changedAt.Add(s.observer().ObserverWait(l.duration)) // rule observers-clock
		return max(expired, l.since), true                                // since is later if we were not to take it (noLongerWithheld)
	case Foreign:
		// We take a lock from a foreign holder by a claim first (rule claim-and-wait).
		if l.duration > foreignMaxDuration {
			return 0, false
		}
		expired := l.changedAt.Add(s.observer().ObserverWait(max(l.duration, t.LeaseDuration)))
		if at, outranked := s.foreignMayGoAt(); outranked {
			return min(expired, at), true
		}
		return expired, true
	default: // Unowned: rule unknown-is-waited-out
		if s.renewedUnseen() {
			return 0, false
		}
		if !s.waitedOut() {
			return l.since, true
		}
		wait := max(s.observer().LeaseDuration, l.duration) // its former holder may have the longer lease
		if s.mayBeForeign() {
			wait = max(s.observer().LeaseDuration, s.cfg.Foreign.WaitedOut(t.LeaseDuration, l.duration))
		}
		free := l.since.Add(s.observer().ObserverWait(wait))
		if at, proven := s.absentLongEnough(); proven {
			free = min(free, at)
		}
		return free, true
	}
}

// absentLongEnough is when nobody can hold a lock any more that the stream has shown absent without a break,
// and nobody has held since; false if we have no such proof (rule absence-counts). An elector of another kind
// has a duration that nobody knows once the lock is gone. A term that fails open has none.
func (s *step) absentLongEnough() (record.Instant, bool) {
	l := s.Lock
	if l.absentSince == 0 || s.mayBeForeign() || s.cfg.Outage.Mode == OutageFailOpen {
		return 0, false
	}
	wait := max(s.observer().LeaseDuration, l.duration, s.cfg.LongestEver)
	return l.absentSince.Add(s.observer().ObserverWait(wait)), true
}

// waitedOut says whether we wait out a lock without an owner, rather than take it at once.
func (s *step) waitedOut() bool {
	return !s.lastHolder() && !(s.cfg.Bootstrap == BootstrapImmediate && s.Lock.Record.Untouched())
}

// lastHolder says whether the lock lost its owner while it was validly ours: until that validity ends
// nobody else can have taken it. But an elector that is not ours may create it anew, with itself as the holder.
func (s *step) lastHolder() bool {
	l := &s.Lock
	return l.Owner == Unowned && s.now < s.validity.until && !s.renewedUnseen() &&
		(l.Record.Holder == "" || l.Record.Holder == s.cfg.Member.Identity || l.Version.UID == s.Term.UID)
}

// foreignMaxDuration is the longest lease duration of a foreign holder that we wait out without an operator.
const foreignMaxDuration = record.MaxLeaseDuration

func (s *step) ownerless(r *record.Record) string {
	switch {
	case s.renewedUnseen():
		return fmt.Sprintf("holder %q, renewed by session %q of the lock's namespace, where this member sees none: it is left until that holder or \"primacy handback\" releases it", r.Holder, r.Mark.Session)
	case r.Unreadable != "":
		return r.Unreadable
	case r.Untouched():
		return "just created"
	case r.Mark == nil:
		return fmt.Sprintf("holder %q, and no mark of ours", r.Holder)
	case s.View.Sessions[r.Mark.Session].robbedUntil(r.Holder) != 0:
		return fmt.Sprintf("holder %q, over whose session %q somebody put an earlier one", r.Holder, r.Mark.Session)
	case r.Bound():
		return fmt.Sprintf("holder %q, whose session %q is unknown", r.Holder, r.Mark.Session)
	}
	return fmt.Sprintf("holder %q, but our mark is for %q", r.Holder, r.Mark.Identity)
}
