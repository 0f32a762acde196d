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

// last is the latest version of a lock that the stream or a reply showed, or another's term that a read showed, the duration that counted
// then, and until when the lock was certainly ours. The version has no uid if a read showed it, and loses it once a version came after it
// that is no later beat of ours. Then other versions may have come between, or an unchanged beat may have been put back, so no list shows
// what we know.
type last struct {
	shown    *record.Record
	version  record.Version
	duration time.Duration
	ours     record.Instant
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
	known := last{trimmed(l.shown), l.streamed, l.duration, ended.validity.until}
	// A reply showed a version that the stream has yet to show, or a read showed another's term. The read may have skipped versions.
	if (l.seamless || l.Owner == Other) && l.Version.Revision > l.streamed.Revision {
		if known.shown, known.version = trimmed(l.Record), l.Version; !l.seamless {
			known.version.UID = ""
		}
	}
	return Unshown{ended.foreign.left(), l.shared, known}
}

// inherit makes s know what another machine has left.
func (s *State) inherit(u Unshown) {
	s.Lock.shared = u.shared
	s.Lock.shown, s.Lock.streamed, s.Lock.duration, s.Lock.beatAt = u.last.shown, u.last.version, u.last.duration, u.last.ours
	s.foreign = u.electors.kept()
}

// ShownEarly notes that the stream or a list shows the lock as r, before the first list that the machine may go by.
func (s *State) ShownEarly(r *record.Record, v record.Version, by Source) {
	if s.Lock.Seen {
		return
	}
	l := &s.Lock
	s.inherit(Unshown{s.foreign.left(), l.shared, last{l.shown, l.streamed, l.duration, l.beatAt}}.Shown(r, v, by))
}

// Shown returns what we know once the stream or a list shows the lock as r and no machine follows it. Only a later beat of ours takes the
// place of what we know: the next machine must compare its first list with the latest term that we saw. So an earlier record that a
// stranger put back changes nothing, nor does a deleted lock. Of an elector of another kind we note only that there is one. An edit of
// the record that we know is no news either, but the version goes along with it as long as the stream shows that nothing came between.
func (u Unshown) Shown(r *record.Record, v record.Version, by Source) Unshown {
	l := &u.last
	if v == l.version {
		return u
	}
	u.shared = u.shared || r != nil && r.Holder != "" && !r.Bound() && !record.OurForm(r.Holder)
	switch seamless := by == Stream && v.UID == l.version.UID; {
	case r == nil, !r.Bound(), isPutBackOver(l.shown, r), sameBoundBeat(l.shown, r) && !seamless:
		l.version.UID = ""
	case sameBoundBeat(l.shown, r):
		l.version = v
	case isBefore(r, l.shown, l.version):
		l.version.UID = ""
	default:
		u.last = last{trimmed(r), v, r.Mark.Duration, l.ours}
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
