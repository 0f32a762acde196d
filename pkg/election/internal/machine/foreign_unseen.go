package machine

import (
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Foreign electors of which we know nothing may be at work, too (rules claim-and-wait, unknown-is-waited-out): those that held the
// lock before we came, during a break of the stream, or before a stranger put an earlier record back.

// missedForeign: a break of the stream hid how the lock came to what a list shows. Another foreign elector may have held it during the
// break and still be at work. That elector may also write the next release, so a release does not prove that it has stopped.
func (s *step) missedForeign(e Observed) {
	shown := s.Lock.shown
	if s.knownAtWork(e.Version) {
		return
	}
	if s.ownerOf(e.Record, e.Version.UID) != Foreign || shown != nil && s.Lock.streamed.UID == e.Version.UID &&
		shown.Holder == e.Record.Holder && shown.Transitions == e.Record.Transitions && shown.Renewed.Before(e.Record.Renewed) {
		return
	}
	s.suspectUnseen()
}

// knownAtWork says whether a term of ours is on, and we already know this version of the lock or a newer one. What the stream has not
// shown before that version was before our term: a term begins only once the stream has shown what it began on.
func (s *step) knownAtWork(v record.Version) bool {
	return s.inTerm() && v.Revision <= s.Lock.Version.Revision
}

// inTerm says whether a term of ours is on, or its work is being stopped.
func (s *step) inTerm() bool { return s.Role == Leading || s.Role == Draining }

// suspectUnseen notes that a foreign elector of which we know nothing may be at work.
func (s *step) suspectUnseen() {
	s.suspect(suspect{Claim: record.Claim{Identity: "unseen", Duration: s.cfg.Timing.LeaseDuration}, nameless: true})
}

// suspectUnknown: the lock had no known owner since an instant, and now it has one. A foreign elector may have held it, and may be at
// work until the whole wait is over, whoever has it now (rule unknown-is-waited-out).
func (s *step) suspectUnknown(since record.Instant) {
	if !s.mayBeForeign() || s.Lock.Owner == Unowned && !s.waitedOut() { // we were its last holder, or nobody ever held it
		return
	}
	t := s.observer()
	if s.now < since.Add(t.ObserverWait(s.cfg.Foreign.WaitedOut(t.LeaseDuration, s.Lock.duration))) {
		s.suspectUnseen()
	}
}

// isForeignPutBack says whether a stranger put r, a foreign elector's, in place of a later record. Then its holder may release it
// while another elector is at work. Each take by another elector raises the number of transitions, each renewal the time.
func isForeignPutBack(before, r *record.Record) bool {
	switch {
	case before.Untouched() || r.Transitions > before.Transitions:
		return false
	case r.Transitions < before.Transitions:
		return true
	case record.OurForm(before.Holder):
		return false // a stranger renamed one of us
	}
	return r.Holder != before.Holder || r.Renewed.Before(before.Renewed)
}
