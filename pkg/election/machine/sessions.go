package machine

import (
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A record that is renewed through its holder's session is written once for each term:
// what keeps it alive are the beats of the session, and whose it is follows from the
// record and the session together (rule 12).

// ownSession is our own session, as the stream showed it.
type ownSession struct {
	name, uid string
	// sent is when the last beat went out that the stream has shown; zero before the first.
	sent record.Instant
}

// validUntil is until when what our session keeps alive is certainly ours. It counts from
// a beat that was seen: a member that sees nothing any more stops, even while its writes
// succeed (rule 2).
func (o ownSession) validUntil(t record.Timing) record.Instant {
	if o.sent == 0 {
		return 0
	}
	return o.sent.Add(t.Validity())
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
func (o ownSession) keep(r *record.Record) {
	r.Duration = unexpiring
	r.Mark.Renewal, r.Mark.Session, r.Mark.SessionUID = record.RenewalSession, o.name, o.uid
}

// unexpiring is the plain duration of a session-renewed record, which is written once for
// each term: so long that no elector of client-go takes it for expired by mistake.
const unexpiring = 365 * 24 * time.Hour

// beatSeen extends the term that our session keeps alive.
func (s *step) beatSeen(e BeatSeen) {
	if e.Sent > s.now {
		panic(fmt.Sprintf("machine: %s: a beat was seen before it was sent", s.cfg.Election))
	}
	s.session = ownSession{name: e.Session, uid: e.UID, sent: max(s.session.sent, e.Sent)}
	if s.Lock.Owner != Mine || !s.Lock.Record.ThroughSession() {
		return
	}
	validUntil := s.session.validUntil(s.cfg.Timing)
	if s.heldUntil != 0 { // else a release is on its way, and another may hold it by now
		s.heldUntil = max(s.heldUntil, validUntil)
	}
	if s.Role == Leading && s.Lock.Record.Token == s.Term.Token && validUntil > s.Term.Deadline && s.now < s.Term.Deadline {
		s.Term.Deadline = validUntil
		s.act(Extend{Deadline: validUntil})
	}
}

// NeedsBeats says whether a beat of our session would change anything now. One that is
// not needed may be told late, before the next event.
func (s *State) NeedsBeats() bool {
	return s.Role != Following || s.Lock.Owner == Mine || s.sightless
}

// throughSession says whether what we write now as the holder is renewed by our session.
// While a foreign elector may be at work it is not: such electors know nothing of sessions.
func (s *step) throughSession() bool {
	return s.cfg.Renewal == record.RenewalSession && !s.claimLasts()
}

// sessionHolds says whether our session will last beyond the time that a stop takes.
func (s *step) sessionHolds() bool {
	return s.now < s.session.validUntil(s.cfg.Timing).Add(-s.cfg.Timing.StopGrace)
}

// ownedThrough is whose a record is that one of us holds, other than this incarnation: of
// a session-renewed one its session decides (rule 12).
func (s *step) ownedThrough(r *record.Record) Owner {
	if !r.ThroughSession() {
		return Other
	}
	switch o, exists := s.View.Sessions[r.Mark.Session]; {
	case !exists || o.UID != r.Mark.SessionUID:
		return Unowned
	case o.Ended, o.Holder != "" && o.Holder != r.Holder:
		return Orphaned // ended, or its slot was used again, which says the same (rule 11)
	case o.Holder == "":
		return Unowned
	}
	return Other
}

// ofUnknownSession says whether a record without an owner is a member's whose session is
// not known.
func (s *step) ofUnknownSession(r *record.Record) bool {
	return r != nil && r.Holder != "" && r.Bound() && r.ThroughSession()
}

// reown finds out whose the lock is, now that the sessions have changed.
func (s *step) reown() {
	if l := s.Lock; l.Record != nil && s.ofUnknownSession(l.Record) && s.ownerOf(l.Record) != l.Owner {
		s.sight(l.Record, l.Version)
	}
}

// held says whether a member of ours holds the lock, or held it through its session.
func (l *Lock) held() bool {
	return l.Owner == Mine || l.Owner == Other || l.Owner == Orphaned ||
		l.Owner == Unowned && l.Record.Holder != "" && l.Record.Bound()
}
