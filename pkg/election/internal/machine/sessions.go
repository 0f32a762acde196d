package machine

import (
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A record that is renewed through its holder's session is written once for each term:
// what keeps it alive are the beats of the session, and whose it is follows from the
// record and the session together (rule owned-through-its-session).

// Beat is the last one of our own session that was seen: the stream that carries the records, or the
// consistent list that it begins with, showed it after all records that changed before it. Sight by any
// other way is none (rule seen-not-assumed).
type Beat struct {
	// Session and UID name the session object; they never change.
	Session, UID string
	// Sent is when it went out; zero before the first.
	Sent record.Instant
	// Since is when the present run of beats began: we saw each beat of a run before the one before it ran
	// out. A term of before that has ended.
	Since record.Instant
	// Late: the next one should have been seen. Until it is, whoever relies on this one asks to be woken.
	Late bool
}

// validUntil is until when what our session keeps alive is certainly ours. It counts from
// a beat that was seen: a member that sees nothing any more stops, even while its writes
// succeed (rule seen-not-assumed).
func (b Beat) validUntil(t record.Timing) record.Instant {
	if b.Sent == 0 {
		return 0
	}
	return b.Sent.Add(t.Validity())
}

// foreignDuration is what a foreign holder wrote as its duration; zero where it left ours,
// which no elector does: then a stranger put its name there.
func foreignDuration(r *record.Record) time.Duration {
	if r.Duration == unexpiring {
		return 0
	}
	return r.Duration
}

// keep makes the beats of our session keep the record alive.
func (b Beat) keep(r *record.Record) {
	r.Duration = unexpiring
	r.Mark.Renewal, r.Mark.Session, r.Mark.SessionUID = record.RenewalSession, b.Session, b.UID
}

// unexpiring is the plain duration of a session-renewed record, which is written once for
// each term: so long that no elector of client-go takes it for expired by mistake.
const unexpiring = 365 * 24 * time.Hour

// rely takes in what the beats of our session have kept alive since the last step.
func (s *step) rely() {
	if s.cfg.Beat.Sent > s.now {
		panic(fmt.Sprintf("machine: %s: a beat was seen before it was sent", s.cfg.Election))
	}
	deadline := s.Term.Deadline
	s.State = s.Relying(s.cfg)
	if s.Term.Deadline != deadline {
		s.act(Extend{Deadline: s.Term.Deadline})
	}
	if s.cfg.Sight == ApartFromSessions {
		s.reown()
	}
}

// NeedsBeats says whether to tell of the next beat of our session when it is seen, since something may
// have to be done then.
func (s *State) NeedsBeats() bool {
	return s.Role == Draining || s.Role == Claiming || s.Role == Following && s.Lock.Owner == Mine || s.sightless
}

// throughSession says whether what we write now as the holder is renewed by our session.
// While a foreign elector may be at work it is not: such electors know nothing of sessions.
func (s *step) throughSession() bool {
	return s.cfg.Renewal == record.RenewalSession && !s.claimLasts()
}

// sessionHolds says whether our session will last beyond the time that a stop takes.
func (s *step) sessionHolds() bool {
	return s.now < s.cfg.Beat.validUntil(s.cfg.Timing).Add(-s.cfg.Timing.StopGrace)
}

// boundTo is whose a record is that is bound to a member of ours. Our name under a beat that
// we never sent is somebody else (rule loss-is-definite), and bound to a session by another hand it is
// nobody's that is known (rule answer-for-your-writes).
func (s *step) boundTo(r *record.Record, uid string) Owner {
	if r.Holder != s.cfg.Member.Identity {
		return s.ownedThrough(r, uid)
	}
	m := r.Mark
	sent := 0 < m.Beat && m.Beat <= s.writes.last
	switch {
	case r.ThroughSession() && s.hasDisowned(uid, m.Beat):
		return Orphaned
	case !r.ThroughSession() && sent, sent && m.Session != "" && m.Session == s.cfg.Beat.Session && m.SessionUID == s.cfg.Beat.UID:
		return Mine
	case r.ThroughSession():
		return Unowned
	}
	return Other
}

// ownedThrough is whose a record is that another member holds: of a session-renewed one
// its session decides (rule owned-through-its-session), once we know that of the time of the record.
func (s *step) ownedThrough(r *record.Record, uid string) Owner {
	o := s.bySession(r, uid)
	if o == Orphaned && !s.sessionsCaughtUp(r) {
		return Unowned
	}
	return o
}

// bySession is whose a record is by the sessions as we know them.
func (s *step) bySession(r *record.Record, uid string) Owner {
	m := s.beside(r)
	if m.Renewal != record.RenewalSession {
		return Other
	}
	switch o, exists := s.View.Sessions[m.Session]; {
	case !exists || o.UID != m.SessionUID:
		return Unowned
	case o.Ended, o.Holder != "" && o.Holder != r.Holder:
		return Orphaned // ended, or its slot was used again, which says the same (rule a-session-ends-once)
	case o.Holder == "":
		return Unowned
	case record.Disowns(o.Disowned, uid, m.Beat):
		return Orphaned
	}
	return Other
}

// sessionsCaughtUp says whether the sessions that we know are at least as new as the record. One
// stream for both shows them before the record. A stream of their own may be behind: what we
// know may be an earlier session of the same slot, and the holder may live in a later one. They
// are new enough once their stream has shown a beat of ours that went out after we first saw
// the record.
func (s *step) sessionsCaughtUp(r *record.Record) bool {
	return s.cfg.Sight == WithSessions || s.cfg.Beat.Sent > s.sawBeatOf(r)
}

// sawBeatOf is when we first saw the record's beat.
func (s *step) sawBeatOf(r *record.Record) record.Instant {
	if l := s.Lock.Record; l != nil && l.Mark != nil && sameBeat(l, r) {
		return s.Lock.beatAt
	}
	return s.now
}

// firstSeen is the record as it was when its beat was first seen, and beside its mark: what
// strangers make of that afterwards counts for nothing (rule observers-clock).
func (l *Lock) firstSeen(r *record.Record) *record.Record {
	if b := l.beaten; b != nil && sameBeat(b, r) {
		return b
	}
	return r
}

func (s *step) beside(r *record.Record) *record.Mark { return s.Lock.firstSeen(r).Mark }

// ofUnknownSession says whether a record without an owner is a member's whose session is
// not known.
func (s *step) ofUnknownSession(r *record.Record) bool {
	return r != nil && r.Holder != "" && r.Bound() && s.beside(r).Renewal == record.RenewalSession
}

// seemsOrphaned says whether a beat of ours decides whether the lock is orphaned.
func (s *step) seemsOrphaned() bool {
	return s.Lock.Owner == Unowned && s.ofUnknownSession(s.Lock.Record) && s.Lock.Record.Holder != s.cfg.Member.Identity &&
		s.bySession(s.Lock.Record, s.Lock.Version.UID) == Orphaned
}

// answerInTime disowns a lock that our session has kept ours, with no work on it, for as long as
// a lock without an owner is waited out: nothing else would free it (rule answer-for-your-writes).
// So it is where a release or a take is refused again and again. It says whether it did. What a
// blind member that stays does about its session concerns all its locks, and is the driver's to
// decide.
func (s *step) answerInTime() bool {
	idle := s.Role == Following || s.Role == Claiming || s.Role == Draining && s.Drain.Stopped
	blind := s.now >= s.cfg.Beat.validUntil(s.cfg.Timing)
	if !idle || s.withdrawal.ended || s.Lock.Owner != Mine || !s.Lock.Record.ThroughSession() || s.cfg.Outlasts || blind && s.withdrawal.leaving == "" {
		s.validity.owedSince = 0
		return false
	}
	if s.validity.owedSince == 0 {
		s.validity.owedSince = s.now
	}
	if at := s.validity.owedSince.Add(s.cfg.Timing.LeaseDuration); s.now < at {
		s.wakeAt(at)
		return false
	}
	s.disown()
	return true
}

// disown makes all that we wrote to the lock so far nobody's, for good (rule disowned-for-good).
func (s *step) disown() {
	s.validity.owedSince = 0
	s.disowned = &record.Disowned{Lock: s.Lock.Version.UID, Beat: s.writes.last}
	s.act(Disown{*s.disowned})
	l := s.Lock
	s.sight(l.Record, l.Version)
	s.Lock.at = l.at // nothing was shown
}

// hasDisowned says whether that write of ours to the lock of that uid is nobody's.
func (s *step) hasDisowned(uid string, beat uint64) bool {
	return s.disowned != nil && s.disowned.Lock == uid && beat <= s.disowned.Beat
}

// proven says whether the stream has shown a beat of ours that went out at or after the
// instant: then it has shown all that was stored before. The take of a lock whose owner's
// session is unknown needs that, since its condition is the version of the lock, which its
// owner does not change.
func (s *step) proven(at record.Instant) bool { return s.cfg.Beat.Sent >= at }

// reown finds out whose the lock is, now that the sessions have changed.
func (s *step) reown() {
	if l := s.Lock; !s.withdrawal.ended && l.Record != nil && s.ofUnknownSession(l.Record) && s.ownerOf(l.Record, l.Version.UID) != l.Owner {
		s.sight(l.Record, l.Version)
		s.Lock.at = l.at // nothing was shown
	}
}
