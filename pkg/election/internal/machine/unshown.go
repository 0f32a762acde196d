package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Unshown is what a machine knows of a lock that its successor would not learn from the lock itself: who may be at work under it, and
// what the lock was when we saw it last. A first list that shows the latter again may hide a term.
type Unshown struct {
	electors foreign
	shared   bool
	last     last
}

// last is the latest version of a lock that the stream, a reply or a read showed, and the duration that counted then.
type last struct {
	shown    *record.Record
	version  record.Version
	duration time.Duration
}

// Unshown returns what a machine that continues this one at the instant now has to know. c is the configuration of the contest that ends.
func (s *State) Unshown(c Config, now record.Instant) Unshown {
	// A stranger may put a record back before the next machine sees that the lock has no owner.
	ended := newStep(c, *s, now)
	if ended.Lock.Seen && !ended.ended && ended.withoutOwner() {
		ended.worksUntil(ended.membersGone())
		ended.suspectUnknown(ended.Lock.since)
	}
	l := &ended.Lock
	known := last{trimmed(l.shown), l.streamed, l.duration}
	// A reply or a read showed a version that the stream has yet to show. A read may have skipped versions, so its own does not count.
	if l.Record != nil && l.Version.Revision > l.streamed.Revision {
		known.shown = trimmed(l.Record)
		if l.seamless {
			known.version = l.Version
		}
	}
	return Unshown{ended.foreign.left(), l.shared, known}
}

// continues makes s know what another machine has left.
func (s *State) continues(u Unshown) {
	s.Lock.shared = u.shared
	s.Lock.shown, s.Lock.streamed, s.Lock.duration = u.last.shown, u.last.version, u.last.duration
	s.foreign = u.electors.kept()
}

// ShownEarly notes that the stream shows the lock as r at the instant now, before the first list that the machine may go by.
func (s *State) ShownEarly(r *record.Record, v record.Version, now record.Instant) {
	if s.Lock.Seen {
		return
	}
	l := &s.Lock
	s.continues(Unshown{s.foreign.left(), l.shared, last{l.shown, l.streamed, l.duration}}.Shown(r, v, now))
}

// Shown returns what we know once the stream shows the lock as r at the instant now and no machine follows it. Only a later beat of ours
// takes the place of what we know: the next machine must compare its first list with the latest term that we saw. So an earlier record
// that a stranger put back changes nothing, nor does a deleted lock, or a record that is not bound. The electors that a record names
// count.
func (u Unshown) Shown(r *record.Record, v record.Version, now record.Instant) Unshown {
	switch {
	case r == nil:
		return u
	case r.Holder != "" && !r.Bound() && !record.OurForm(r.Holder):
		u.shared = true
		u.electors = u.electors.with(suspect{
			Claim: record.Claim{Identity: r.Holder, Transitions: r.Transitions, Duration: foreignDuration(r)}, at: now.Add(2 * unseen(r)),
		})
	case !r.Bound():
	case r.Claim != nil:
		u.electors = u.electors.with(suspect{Claim: *r.Claim, at: now, told: true, by: r.Token})
	}
	was := u.last.shown
	switch known := was != nil && was.Bound(); {
	case !r.Bound(), isNoLater(was, r):
	case !known && r.Token < record.Token(u.last.version.Revision): // the term of an earlier record (rule tokens-rise)
	default:
		u.last = last{trimmed(r), v, r.Mark.Duration}
	}
	return u
}

// trimmed returns a copy of r without the parts that take room and that no machine reads. We keep it longer than the contest.
func trimmed(r *record.Record) *record.Record {
	if r == nil {
		return nil
	}
	kept := *r
	kept.History, kept.Rest = nil, nil
	return &kept
}
