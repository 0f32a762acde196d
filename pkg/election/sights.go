package election

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Ending is how a session ended: EndedByOwner, EndedByLapse, EndedByDeletion, or the Proof by which its member was known to be dead.
type Ending string

const (
	// EndedByOwner: its member left.
	EndedByOwner Ending = "left"
	// EndedByLapse: another member ended it, since it had not been renewed in time.
	EndedByLapse Ending = "lapsed"
	// EndedByDeletion: its object was deleted.
	EndedByDeletion Ending = "deleted"
)

var endings = []Ending{
	EndedByOwner, EndedByLapse, EndedByDeletion,
	Ending(ProofParent), Ending(ProofCgroup), Ending(ProofOperator), Ending(ProofKubelet), Ending(ProofOutOfService),
}

// sights are the sessions of the group, as the watch showed them, for people who observe this member. They decide
// nothing. The mutex of the tally guards them.
type sights struct {
	// slots has the present session of each object, and the one before it: locks may name that for a moment longer.
	slots map[string]*slotSeen
}

type slotSeen struct{ now, before *sessionSeen }

// sessionSeen is the session of one incarnation.
type sessionSeen struct {
	identity, revision, preference string
	// heard is when its last beat was seen; lasts is how long it lives after that.
	heard record.Instant
	lasts time.Duration
	beat  uint64
	// how is empty while it has not ended. gone is since when nobody was at work: the end, the death that was
	// proved, or, if it lapsed, the last sign of life.
	how  Ending
	gone record.Instant
}

func newSights() sights { return sights{slots: map[string]*slotSeen{}} }

// saw takes in what a watch showed.
func (t *tally) saw(group string, in member.Shown, wall time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch in.Event.Kind {
	case lock.Changed:
		t.sawOne(group, in.Event.Entry, in.At, wall)
	case lock.Listed:
		listed := make(map[string]bool, len(t.sights.slots))
		for _, e := range in.Event.List {
			if e.Record != nil && e.Record.IsSession() {
				listed[e.Name] = true
				t.sawOne(group, e, in.At, wall)
			}
		}
		for name := range t.sights.slots {
			if !listed[name] {
				t.sawOne(group, lock.Entry{Name: name}, in.At, wall)
			}
		}
	}
}

func (t *tally) sawOne(group string, e lock.Entry, at record.Instant, wall time.Time) {
	s := t.sights.slots[e.Name]
	if e.Record == nil {
		switch {
		case s == nil:
		case s.now.how == "":
			t.ends(s.now, EndedByDeletion, at)
		default:
			delete(t.sights.slots, e.Name)
		}
		return
	}
	r := e.Record
	if !r.IsSession() || r.Group != group || !r.Bound() {
		return
	}
	identity := r.Member.Identity
	switch {
	case r.Holder == "" && (s == nil || s.now.identity != identity):
		return // it had ended before we saw it
	case r.Holder == "":
		if s.now.how == "" {
			how, gone := endOf(e, s.now, at, wall)
			t.ends(s.now, how, gone)
		}
		return
	case s == nil:
		s = &slotSeen{now: &sessionSeen{identity: identity}}
		t.sights.slots[e.Name] = s
	case s.now.identity != identity:
		if s.now.how == "" { // we did not see the end, or it did not look like one
			t.ends(s.now, EndedByLapse, s.now.heard)
		}
		s.before, s.now = s.now, &sessionSeen{identity: identity}
	}
	if s.now.beat != r.Mark.Beat {
		s.now.heard, s.now.beat = at, r.Mark.Beat
	}
	s.now.revision, s.now.preference, s.now.lasts = r.Member.Revision, r.Member.Preference, r.Mark.Duration
}

// endOf says how a session ended that lived when we saw it last, and since when its member was not at work.
func endOf(e lock.Entry, was *sessionSeen, at record.Instant, wall time.Time) (Ending, record.Instant) {
	for _, d := range session.Proven(e.Record, e.Version.UID) {
		if d.Identity == was.identity && d.Proof.IsKnown() {
			// The clock of another host is believed as far as it agrees with what we saw.
			return Ending(d.Proof), min(at, max(was.heard, at.Add(d.At.Sub(wall))))
		}
	}
	if h := e.Record.History; len(h) > 0 && h[len(h)-1].Who == was.identity {
		return EndedByOwner, at
	}
	return EndedByLapse, was.heard
}

func (t *tally) ends(s *sessionSeen, how Ending, gone record.Instant) {
	s.how, s.gone = how, gone
	t.ended[how]++
}

// over says how the session ended, and since when its member was not at work; how is empty while it has not ended. A session that is
// silent for too long has lapsed, even if the watch does not show the end: somebody has yet to write it, or the store is away.
func (s *sessionSeen) over(now record.Instant) (gone record.Instant, how Ending) {
	if s.how == "" && now.Sub(s.heard) > s.lasts {
		return s.heard, EndedByLapse
	}
	return s.gone, s.how
}

// endOf is over of the session of an identity; how is empty for one that we never saw live.
func (s *sights) endOf(identity string, now record.Instant) (gone record.Instant, how Ending) {
	for _, slot := range s.slots {
		for _, one := range []*sessionSeen{slot.now, slot.before} {
			if one != nil && one.identity == identity {
				return one.over(now)
			}
		}
	}
	return 0, ""
}

// ends returns all sessions that ended: since when their members were not at work, by identity.
func (s *sights) ends(now record.Instant) map[string]record.Instant {
	ends := map[string]record.Instant{}
	for _, slot := range s.slots {
		for _, one := range []*sessionSeen{slot.now, slot.before} {
			if one == nil {
				continue
			}
			if gone, how := one.over(now); how != "" {
				ends[one.identity] = gone
			}
		}
	}
	return ends
}

// living counts the members that live, by revision. divided: they see different preferences.
func (s *sights) living(now record.Instant) (by map[string]int, divided bool) {
	by = map[string]int{}
	seen := map[string]bool{}
	for _, slot := range s.slots {
		one := slot.now
		if _, how := one.over(now); how == "" {
			by[one.revision]++
			seen[one.preference] = true
		}
	}
	return by, len(seen) > 1
}
