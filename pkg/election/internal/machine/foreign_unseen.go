package machine

import (
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Foreign electors of which we know nothing may be at work, too (rules claim-and-wait, unknown-is-waited-out): those that held the
// lock before we came, during a break of the stream, or before a stranger put an earlier record back.

// missedForeign: a break of the stream hid how the lock came to what a list shows. A foreign elector may
// have held it meanwhile and still be at work. So a foreign holder's release may be that of the unseen elector until that has
// certainly stopped.
func (s *step) missedForeign(e Observed) {
	shown := s.Lock.shown
	if s.workedSince(e.Version) {
		return
	}
	if s.ownerOf(e.Record, e.Version.UID) != Foreign || shown != nil && s.Lock.streamed.UID == e.Version.UID &&
		shown.Holder == e.Record.Holder && shown.Transitions == e.Record.Transitions && shown.Renewed.Before(e.Record.Renewed) {
		return
	}
	s.suspectUnseen()
}

// workedSince says whether our work began after that version of the lock. Then nothing before it is unseen: a term begins only
// once the stream has shown all that came before.
func (s *step) workedSince(v record.Version) bool {
	return (s.Role == Leading || s.Role == Draining) && v.Revision <= s.Lock.Version.Revision
}

// suspectUnseen notes that a foreign elector of which we know nothing may be at work.
func (s *step) suspectUnseen() {
	s.suspect(suspect{Claim: record.Claim{Identity: "unseen", Duration: s.cfg.Timing.LeaseDuration}, nameless: true})
}

// suspectUnknown is called when the lock, which had no known owner since an instant, gets one. The owner before may have been a
// foreign elector, and may be at work, whatever the new one does (rule unknown-is-waited-out).
func (s *step) suspectUnknown(since record.Instant) {
	if !s.mayBeForeign() || s.Lock.Owner == Unowned && !s.waitedOut() {
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
	}
	return r.Holder != before.Holder || r.Renewed.Before(before.Renewed)
}
