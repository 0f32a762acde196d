package session

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// stated is the part of a slot owner's last beat that decides how long others wait for the owner. A stranger's edit
// changes none of it (rule observers-clock).
type stated struct {
	// identity is the member's; empty if the record says nothing of a member.
	identity, config, group string
	transitions             int
	// duration is how long the session lasts.
	duration time.Duration
	setup    record.Setup
	// predecessors are those of which the session told.
	predecessors []record.Predecessor
	// open are the elections in which the member had a term that may fail open.
	open []string
	// left: the member ended the session itself.
	left bool
}

// statedBy returns what a record states, if we know nothing of its slot from before. A stranger may have unbound it: the rest
// still tells of a member that may be at work.
func statedBy(r *record.Record) stated {
	s := stated{group: r.Group, transitions: r.Transitions, left: endedByOwner(r)}
	if r.Bound() {
		s.duration = DurationOf(r)
	}
	if m := r.Member; m != nil {
		s.identity, s.config, s.setup = m.Identity, m.Config, m.Setup
		s.predecessors, s.open = m.Predecessors, m.Open
	}
	return s
}

// strange says whether the object never told of a member. It is not ours then, although it is named like a session: it may be a living lock
// of another program, or of another group.
func (s *slot) strange() bool { return s.stated.identity == "" }

// longest is the longest lease that the owner published.
func (s *stated) longest() time.Duration { return max(s.setup.Longest(), s.duration) }

// endsAnother says whether the record of an ended session is that of a later member than the one that stated s.
func (s *stated) endsAnother(r *record.Record) bool {
	return r.Member != nil && s.identity != r.Member.Identity && s.transitions != r.Transitions
}

// DurationOf is how long a session lasts. The record of a live session says that in two fields. A third field
// has the member's longest lease, which is no shorter. If a stranger edited one of the three, the middle value
// is still long enough, and no longer than the longest lease. Members of an earlier version publish no longest
// lease.
func DurationOf(r *record.Record) time.Duration {
	if r.Member == nil || r.Member.LongestLease == 0 {
		return r.Mark.Duration
	}
	three := []time.Duration{r.Duration, r.Mark.Duration, r.Member.Longest()}
	slices.Sort(three)
	return three[1]
}

// mayWork says whether the slot's last owner may still be at work. A member that ended its session itself does no work.
// If another member ended the session, the locks expire. They also expire if a stranger gave the session another group:
// then nobody ends it.
func (d *Directory) mayWork(s *slot, now record.Instant) bool {
	if s.stated.identity == "" || s.stated.left {
		return false
	}
	return now < d.overAfter(s.changedAt, s) || !s.ended && !d.isAlien(s)
}

// overAfter is when all work of the slot's last owner is over if its session ended at from. The session kept its locks for one
// lease at most. The record of a lock may keep that lock for another lease.
func (d *Directory) overAfter(from record.Instant, s *slot) record.Instant {
	return from.Add(d.timing.ObserverWait(2 * s.stated.longest()))
}
