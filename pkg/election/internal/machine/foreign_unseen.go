package machine

import (
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Foreign electors of which we know nothing may be at work, too (rules claim-and-wait, unknown-is-waited-out): those that held the
// lock before we came, during a break of the stream, or before a stranger put an earlier record back.

// missedForeign: a break of the stream hid how the lock came to what a list shows. Another foreign elector may have held it during the
// break and still be at work. That elector may also write the next release, so a release does not prove that it has stopped.
func (s *step) missedForeign(e Observed) {
	l, r := &s.Lock, e.Record
	renews := func(known *record.Record, uid string) bool {
		return known != nil && uid == e.Version.UID && known.Holder == r.Holder && known.Transitions == r.Transitions && known.Renewed.Before(r.Renewed)
	}
	switch {
	case s.beforeTerm(e.Version), s.ownerOf(r, e.Version.UID) != Foreign:
	case !renews(l.shown, l.streamed.UID), l.Version != e.Version && l.Owner == Foreign && !renews(l.Record, l.Version.UID):
		s.suspectUnseen(s.now)
	}
}

// beforeTerm says whether a term of ours is on, and the version of the lock is none that came after it had begun. A term begins only
// once the stream has shown all that was before, so such a version hides nothing. The token is no lower than the version that the take
// replaced (rule tokens-rise).
func (s *step) beforeTerm(v record.Version) bool {
	return s.inTerm() && v.Revision <= uint64(s.Term.Token) // #nosec G115 -- tokens are not negative
}

// inTerm says whether a term of ours is on, or its work is being stopped.
func (s *step) inTerm() bool { return s.Role == Leading || s.Role == Draining }

// suspectUnseen notes that a foreign elector of which we know nothing may have renewed last at the instant, and may be at work.
func (s *step) suspectUnseen(at record.Instant) {
	s.suspect(suspect{Claim: record.Claim{Identity: "unseen", Duration: s.cfg.Timing.LeaseDuration}, nameless: true, at: at})
}

// suspectUnknown: the lock had no known owner since an instant, and now it has one. A foreign elector may have held it, and may be at
// work until the whole wait is over, whoever has it now (rule unknown-is-waited-out).
func (s *step) suspectUnknown(since record.Instant) {
	if !s.mayBeForeign() || s.Lock.Owner == Unowned && !s.waitedOut() { // we were its last holder, or nobody ever held it
		return
	}
	s.suspectUnseen(since)
}

// foreignPutBack: the stream shows a foreign elector's record after a read, or a reply, showed it or a later one. If a stranger had put it
// back, another elector may be at work.
func (s *step) foreignPutBack(e Observed) {
	if k := &s.Lock; k.shown != nil && k.streamed.UID == e.Version.UID && isForeignPutBack(k.shown, e.Record) {
		s.suspectUnseen(s.now)
	}
}

// isForeignPutBack says whether a stranger put r, a foreign elector's, in place of a later record. Then its holder may release it
// while another elector is at work. Each take by another elector raises the number of transitions, each renewal the time.
func isForeignPutBack(before, r *record.Record) bool {
	if r.Transitions > before.Transitions || before.Holder != "" && before.Bound() {
		return false // one of us was robbed; what we know of our own times is more exact than a ConfigMap
	}
	return r.Renewed.Before(before.Renewed)
}
