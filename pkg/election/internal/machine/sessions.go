package machine

import (
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// The holder writes a session-renewed record once for each term. The beats of its session keep the record
// alive; the record and the session together say whose it is (rule owned-through-its-session).

// Beat is the last beat of our own session that we saw: the stream that carries the records, or the
// consistent list that it begins with or is given, showed it after all records that changed before it. No other sight
// counts (rule seen-not-assumed).
type Beat struct {
	// Session and UID name the session object; they never change.
	Session, UID string
	// Sent is when it went out; zero before the first.
	Sent record.Instant
	// Since is when the present run of beats began. In a run, we saw each beat before the validity from the
	// previous beat ran out. A term that began before Since has ended.
	Since record.Instant
	// Late: we should have seen the next beat by now. Until we see it, a term that relies on this beat asks
	// for a Tick.
	Late bool
}

// validUntil is until when all that our session keeps alive is certainly ours. It counts from a beat that
// we saw: a member that sees nothing any more stops, even while its writes succeed (rule seen-not-assumed).
func (b Beat) validUntil(t record.Timing) record.Instant {
	if b.Sent == 0 {
		return 0
	}
	return b.Sent.Add(t.Validity())
}

// foreignDuration is the duration that a foreign holder wrote. It is zero if the record still has our
// unexpiring duration: an elector would have written its own, so a stranger put the name there.
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

// unexpiring is the plain duration of a session-renewed record, which we write once for each term. It is so
// long that no elector of client-go takes the record for expired by mistake.
const unexpiring = 365 * 24 * time.Hour

// rely extends the lock's validity, and our term, by the beats of our session since the last step.
func (s *step) rely() {
	if s.cfg.Beat.Sent > s.now {
		panic(fmt.Sprintf("machine: %s: a beat was seen before it was sent", s.cfg.Election))
	}
	deadline := s.Term.Deadline
	s.State = s.Relying(s.cfg)
	if s.Term.Deadline != deadline {
		s.act(Extend{Deadline: s.Term.Deadline})
	}
	if s.cfg.Sight != WithSessions {
		s.reown()
	}
}

// NeedsBeats says whether the driver must step us when it sees the next beat of our session, since we may
// have to act then.
func (s *State) NeedsBeats() bool {
	return s.Role == Draining || s.Role == Claiming || s.Role == Following && s.Lock.Owner == Mine || s.sightless
}

// throughSession says whether our session renews what we write now as the holder. It does not while a
// foreign elector may be at work: such electors know nothing of sessions.
func (s *step) throughSession() bool {
	return s.cfg.Renewal.Of(s.wasForeign()) == record.RenewalSession && !s.claimLasts()
}

// sessionHolds says whether our session will last beyond the time that a stop takes.
func (s *step) sessionHolds() bool {
	return s.now < s.cfg.Beat.validUntil(s.cfg.Timing).Add(-s.cfg.Timing.StopGrace)
}

// boundTo says who owns a record that is bound to a member of ours. If the record has our name and a beat
// that we never sent, the owner is somebody else (rule loss-is-definite). If it has our name, but somebody
// else bound it to a session, we don't know the owner (rule answer-for-your-writes).
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

// ownedThrough says who owns a record held by another member. If a session renews the record, the session
// decides (rule owned-through-its-session), once what we know of the session is as new as the record.
func (s *step) ownedThrough(r *record.Record, uid string) Owner {
	if s.beside(r).Renewal != record.RenewalSession {
		if s.freedByProof(r) {
			return Orphaned
		}
		return Other
	}
	o := s.bySession(r, uid)
	if o == Orphaned && !s.sessionsCaughtUp(r) {
		return Unowned
	}
	return o
}

// bySession says who owns a record by the sessions as we know them.
func (s *step) bySession(r *record.Record, uid string) Owner {
	m := s.beside(r)
	switch o, exists := s.View.Sessions[m.Session]; {
	case !exists || o.UID != m.SessionUID:
		return Unowned
	case o.robbedUntil(r.Holder) != 0:
		return Unowned // it may be at work
	case o.Ended, o.Holder != "" && o.Holder != r.Holder:
		return Orphaned // ended, or its slot was used again, which says the same (rule a-session-ends-once)
	case o.Holder == "":
		return Unowned
	case record.Disowns(o.Disowned, uid, m.Beat):
		return Orphaned
	}
	return Other
}

// robbedUntil is until when the member with that identity may be at work, although the session does not show it; zero if it is not robbed.
func (s Session) robbedUntil(identity string) record.Instant {
	if i := slices.IndexFunc(s.Robbed, func(r Robbed) bool { return r.Identity == identity }); i >= 0 {
		return s.Robbed[i].Until
	}
	return 0
}

// sessionGone notes that the lock, which was held by r, is another's now. If somebody robbed its holder of the session, others may have
// believed that.
func (s *step) sessionGone(r *record.Record) {
	if !r.ThroughSession() {
		return
	}
	s.worksUntil(s.View.Sessions[r.Mark.Session].robbedUntil(r.Holder))
}

// sessionsCaughtUp says whether the sessions that we know are at least as new as the record. We may know an earlier
// session of the same slot, while the holder lives in a later one. A stream that shows both shows the sessions before
// the record. A read may show the record earlier: then the stream has caught up once it shows the record, too. A separate
// stream of sessions has caught up once it has shown a beat of ours that went out after we first saw the record.
func (s *step) sessionsCaughtUp(r *record.Record) bool {
	if s.cfg.Sight == WithSessions {
		return s.streams(r)
	}
	return s.cfg.Beat.Sent > s.sawBeatOf(r)
}

// streams says whether the stream shows the record, or has shown its beat.
func (s *step) streams(r *record.Record) bool {
	was := s.Lock.shown
	return r == s.showing || was != nil && was.Mark != nil && sameBeat(was, r)
}

// sawBeatOf is when we first saw the record's beat.
func (s *step) sawBeatOf(r *record.Record) record.Instant {
	if l := s.Lock.Record; l != nil && l.Mark != nil && sameBeat(l, r) {
		return s.Lock.beatAt
	}
	return s.now
}

// Session is the session that the lock's record named when we first saw its beat.
func (l *Lock) Session() string { return l.firstSeen(l.Record).Mark.Session }

// firstSeen is r as it was when we first saw its beat, and beside is the mark of that version. What strangers
// edit afterwards counts for nothing (rule observers-clock).
func (l *Lock) firstSeen(r *record.Record) *record.Record {
	if b := l.beaten; b != nil && sameBeat(b, r) {
		return b
	}
	return r
}

func (s *step) beside(r *record.Record) *record.Mark { return s.Lock.firstSeen(r).Mark }

// ofUnknownSession says whether a record without an owner belongs to a member whose session we don't know.
func (s *step) ofUnknownSession(r *record.Record) bool {
	return r != nil && r.Holder != "" && r.Bound() && s.beside(r).Renewal == record.RenewalSession
}

// renewedUnseen says whether a session may renew the lock that we would not see if it lived (rule
// owned-through-its-session). That it is unknown to us says nothing then, however long we wait.
func (s *step) renewedUnseen() bool {
	return s.cfg.Sight == WithoutSessions && s.Lock.Owner == Unowned && s.ofUnknownSession(s.Lock.Record)
}

// seemsOrphaned says whether a beat of ours decides whether the lock is orphaned.
func (s *step) seemsOrphaned() bool {
	return s.Lock.Owner == Unowned && s.ofUnknownSession(s.Lock.Record) && s.Lock.Record.Holder != s.cfg.Member.Identity &&
		s.bySession(s.Lock.Record, s.Lock.Version.UID) == Orphaned
}

// answerInTime disowns a lock that our session has kept ours, with no work on it, for a leaseDuration:
// nothing else would free it (rule answer-for-your-writes). That happens when the store refuses a release
// or a take again and again. It says whether it disowned the lock. It does nothing while we see no beats of
// our session, unless we leave: that concerns all our locks, so the driver decides.
func (s *step) answerInTime() bool {
	idle := s.Role == Following || s.Role == Claiming || s.Role == Draining && s.Drain.Stopped
	blind := s.now >= s.cfg.Beat.validUntil(s.cfg.Timing)
	if !idle || s.ended || s.Lock.Owner != Mine || !s.Lock.Record.ThroughSession() || s.cfg.Outlasts || blind && s.withdrawal.leaving == "" || s.now < s.foreign.robbedUntil() {
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

// hasDisowned says whether we disowned our write with the given beat to the lock with the given uid.
func (s *step) hasDisowned(uid string, beat uint64) bool {
	return s.disowned != nil && s.disowned.Lock == uid && beat <= s.disowned.Beat
}

// proven says whether the stream has shown a beat of ours that went out at or after the instant: then it
// has shown all that was stored before. We need that before we take a lock whose owner's session is
// unknown: the take is conditional on the lock's version, which its owner does not change.
func (s *step) proven(at record.Instant) bool { return s.cfg.Beat.Sent >= at }

// reown determines the lock's owner anew, since what we know of the sessions may have changed.
func (s *step) reown() {
	l := s.Lock
	if s.ended || l.Record == nil || l.Record.Holder == "" || !l.Record.Bound() {
		return
	}
	through := s.beside(l.Record).Renewal == record.RenewalSession || l.Record.Holder != s.cfg.Member.Identity
	if through && s.ownerOf(l.Record, l.Version.UID) != l.Owner {
		s.sight(l.Record, l.Version)
		s.Lock.at = l.at // nothing was shown
	}
}
