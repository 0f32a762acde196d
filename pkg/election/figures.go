package election

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// Figures are what one member has counted since its Manager was made, and what it sees now. None of them grows with the
// number of elections, except Leaderless and NotPreferred.
type Figures struct {
	// Transitions counts the changes of this member's roles.
	Transitions map[Passage]uint64
	// Handovers and Takeovers are how long nobody led before each term of this member, as far as this member saw it.
	// In a handover the last holder gave the lock up, and the time counts from there. Otherwise it counts from the
	// holder's last sign of life, or from its death if that was proved.
	Handovers, Takeovers Histogram
	// Stops are how long work took to stop, from when this member told it to.
	Stops Histogram
	// Beats are the times from sending a beat of the session until the watch showed it.
	Beats Histogram
	// Writes are how long writes took, by what they were for.
	Writes map[Purpose]Histogram
	// SessionsEnded counts the sessions of the group that this member saw end.
	SessionsEnded map[Ending]uint64
	// Hijacks counts the terms of this member that somebody's write to the lock ended, by the Reason. In an election that fails
	// open, the write may be that of another member.
	Hijacks map[Reason]uint64
	// Repairs counts the locks without a credible owner that this member wrote anew, except new ones.
	Repairs uint64

	// Elections counts the elections that this member takes part in, and Leading those that it leads. Jeopardy and FailingOpen
	// count the ones among these for which Status.InJeopardy and Status.FailingOpen are true.
	Elections, Leading, Jeopardy, FailingOpen int
	// UntilDeadline is how long the term that ends first may last without another renewal; meaningless if Leading is zero.
	UntilDeadline time.Duration
	// Members counts the members that live, by revision. Divided: they do not all see the same preference.
	Members map[string]int
	Divided bool
	// Leaderless are the elections that nobody is seen to lead, and for how long that has been so. An elector that is not Primacy
	// leads only where the election is shared with such.
	Leaderless map[string]time.Duration
	// NotPreferred are the elections that are led, but not by the preferred revision or by the member to which they are pinned.
	NotPreferred map[string]bool
}

// Passage is a change of role.
type Passage struct {
	To     Role
	Reason Reason
}

// Purpose is what a write to the store is for.
type Purpose string

const (
	// PurposeSession: a beat, or the beginning or the end of a session.
	PurposeSession Purpose = "session"
	// PurposeCreate: a lock object that was missing. PurposeClaim: a lock of a foreign elector. PurposeTake: a lock, for a
	// term. PurposeRenew: a renewal of a lock's own record. PurposeRelease: a lock's release.
	PurposeCreate  Purpose = "create"
	PurposeClaim   Purpose = "claim"
	PurposeTake    Purpose = "take"
	PurposeRenew   Purpose = "renew"
	PurposeRelease Purpose = "release"
)

// purposes are all Purposes, by that of a member.Send.
var purposes = [...]Purpose{PurposeSession, PurposeCreate, PurposeClaim, PurposeTake, PurposeRenew, PurposeRelease}

// hijacks are the reasons of terms that ended by somebody's write.
var hijacks = []Reason{machine.ReasonLost, machine.ReasonDeleted, machine.ReasonCorrupt, machine.ReasonRestored}

// tally counts what a Manager does. The host and the work of disabled elections write it; any goroutine may read it.
type tally struct {
	handovers, takeovers, stops, beats histogram
	writes                             [len(purposes)]histogram

	mu          sync.Mutex
	transitions map[Passage]uint64
	hijacks     map[Reason]uint64
	ended       map[Ending]uint64
	repairs     uint64
	preference  Preference
	sights      sights
}

func newTally() *tally {
	t := &tally{transitions: map[Passage]uint64{}, hijacks: map[Reason]uint64{}, ended: map[Ending]uint64{}, sights: newSights()}
	for _, how := range endings {
		t.ended[how] = 0
	}
	for _, why := range hijacks {
		t.hijacks[why] = 0
	}
	return t
}

// passed counts a transition.
func (t *tally) passed(x Transition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch x.Event {
	case EventRole:
		t.transitions[Passage{x.Role, x.Reason}]++
	case EventLost:
		if _, hijacked := t.hijacks[x.Reason]; hijacked {
			t.hijacks[x.Reason]++
		}
	}
}

// prefers notes the present preference.
func (t *tally) prefers(p Preference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.preference = p
}

// wrote counts a write and its answer.
func (t *tally) wrote(do member.Send, took time.Duration, err error) {
	t.writes[do.Purpose].note(took)
	// Records whose owner nobody knows are rewritten by a take. The first take of a new lock is the only one
	// without a past.
	anew := do.Purpose == machine.Take && machine.TookUnowned(do.Write.History) && (do.Write.Transitions > 1 || len(do.Write.History) > 1)
	if anew && lock.OutcomeOf(err) == lock.Committed {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.repairs++
	}
}

// led counts how long nobody led before a term of ours that begins now, and returns it. ok is false if we cannot know.
func (t *tally) led(s *Status, identity string, now record.Instant) (gap time.Duration, ok bool) {
	s.mu.Lock()
	before, since, never := s.leaderLocked(), time.Unix(0, s.ledAt), s.why.Value() == "" && s.ledAt == s.roleAt
	s.mu.Unlock()
	switch {
	case before.Identity == "" && never, before.Identity == identity:
		return 0, false
	case before.Identity == "":
		gap = max(0, s.shared.clock.Wall().Sub(since))
		t.handovers.note(gap)
		return gap, true
	}
	t.mu.Lock()
	end, how := t.sights.endOf(before.Identity, now)
	t.mu.Unlock()
	if how == "" {
		return 0, false
	}
	gap = max(0, now.Sub(end))
	if how == EndedByOwner {
		t.handovers.note(gap)
	} else {
		t.takeovers.note(gap)
	}
	return gap, true
}

// Group is the group's name.
func (m *Manager) Group() string { return m.cfg.Group }

// Figures returns what this member has counted, and what it sees now.
func (m *Manager) Figures() Figures {
	t := m.tally
	f := Figures{
		Handovers: t.handovers.read(), Takeovers: t.takeovers.read(), Stops: t.stops.read(), Beats: t.beats.read(),
		Writes: map[Purpose]Histogram{}, Leaderless: map[string]time.Duration{}, NotPreferred: map[string]bool{},
	}
	for i, p := range purposes {
		f.Writes[p] = t.writes[i].read()
	}
	now, wall := m.cfg.Clock.Now(), m.cfg.Clock.Wall()
	t.mu.Lock()
	f.Transitions, f.Hijacks, f.SessionsEnded = maps.Clone(t.transitions), maps.Clone(t.hijacks), maps.Clone(t.ended)
	f.Repairs = t.repairs
	f.Members, f.Divided = t.sights.living(now)
	ends := t.sights.ends(now)
	preference := t.preference
	t.mu.Unlock()

	m.mu.Lock()
	elections := slices.Collect(maps.Values(m.elections))
	m.mu.Unlock()
	f.Elections = len(elections)
	follows := map[*member.Settings]bool{}
	for _, e := range elections {
		name := e.spec.Name
		leads := f.lead(e.status, now)
		if e.spec.Disabled {
			continue
		}
		leader, since := e.status.leads()
		if leader.Identity == "" || !record.OurForm(leader.Identity) && e.spec.Foreign.Sharing == NotShared { // no member works
			f.Leaderless[name] = max(0, wall.Sub(since))
			continue
		}
		if end, ended := ends[leader.Identity]; ended && !leads {
			f.Leaderless[name] = max(0, now.Sub(end))
			continue
		}
		if preference == nil {
			continue
		}
		moves, known := follows[e.spec.Settings]
		if !known {
			moves = priority.FollowsRevision(e.spec.Policy)
			follows[e.spec.Settings] = moves
		}
		prefers := preference.For(name)
		if !moves && prefers.State == record.PreferredSet {
			prefers.State = record.PreferredUnset
		}
		if differs(prefers, leader) {
			f.NotPreferred[name] = true
		}
	}
	return f
}

// lead counts an election if this member leads it, and says whether it does. It is for very many, so it reads no clock.
func (f *Figures) lead(s *Status, now record.Instant) bool {
	v := s.valid.Load()
	if v == nil {
		return false
	}
	left := v.until().Sub(now)
	if left <= 0 {
		return false
	}
	if f.Leading == 0 || left < f.UntilDeadline {
		f.UntilDeadline = left
	}
	f.Leading++
	h, ok := s.renewals()
	if ok && now >= h.Jeopardy {
		f.Jeopardy++
	}
	if ok && h.Open != 0 && now >= h.Open {
		f.FailingOpen++
	}
	return true
}

// leads is the leader, and since when.
func (s *Status) leads() (Leader, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaderLocked(), time.Unix(0, s.ledAt)
}

// differs says whether an election should be led by another member.
func differs(p record.Preferred, l Leader) bool {
	switch {
	case p.Member != "" && (p.State == record.PreferredUnset || p.State == record.PreferredSet):
		return !p.Pins(l.Identity)
	case p.State == record.PreferredSet:
		return l.Revision != p.Revision
	}
	return false
}
