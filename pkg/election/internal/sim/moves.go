package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// The class Moves: elections with locks that are stored apart from the sessions and watched by name, or as a whole,
// elections with ranges, and elections that move from one lock to another while members live, as
// docs/moving.md describes. One after the other, all members are given both locks; only then is the first
// given the new lock alone. Some moves turn back half-way, and some go all the way back. Configurations
// change while members run.

// locks are the locks of one election.
type locks struct {
	// old is the lock that the election moves from; empty if it does not move. own is its lock, after the move.
	old, own lock.Entry // of these only the Name counts
	// oldApart and ownApart: the lock is stored apart from the sessions.
	oldApart, ownApart bool
	ranged             bool
	// stage says which locks the hosts are being given: the old one, both, or the new one.
	stage stage
}

// stage says which locks of an election a host knows.
type stage int

const (
	oldOnly stage = iota
	bothLocks
	ownOnly
)

// storeOf is the store of a lock. The locks that are not stored with the sessions are watched by name, or all together in some runs.
func (w *world) storeOf(isApart bool) member.Store {
	if isApart {
		return member.Store{ID: 1, ByName: !w.apartWhole, Objects: 1}
	}
	return member.Own
}

// pickLocks decides where the lock of each election is. Only elections of the class Moves move.
func (w *world) pickLocks(rng *rand.Rand) {
	w.apart = map[string]bool{}
	w.apartWhole = rand.New(rand.NewPCG(w.seed, 0x94d049bb133111eb)).IntN(3) == 0
	for e, name := range w.elections {
		l := locks{own: lock.Entry{Name: name}, stage: ownOnly}
		if w.options.Class == Moves {
			l.ownApart = rng.IntN(2) == 0
			switch rng.IntN(3) {
			case 0:
				l.ranged = true
			default:
				l.old, l.oldApart, l.stage = lock.Entry{Name: "old-" + name}, rng.IntN(2) == 0, oldOnly
			}
		}
		w.locks = append(w.locks, l)
		w.apart[l.own.Name], w.apart[l.old.Name] = l.ownApart, l.oldApart
		for _, h := range w.hosts {
			h.stages = append(h.stages, l.stage)
			if l.moves() || l.ranged || l.ownApart {
				h.renewal[e] = record.RenewalRecord
			}
			h.ranges = append(h.ranges, nil)
		}
	}
	if w.options.Class == Moves {
		for _, h := range w.hosts {
			h.wallOffset = time.Duration(rng.Int64N(int64(time.Minute))) - 30*time.Second
		}
		gap := w.timing.LeaseDuration/2 + time.Duration(rng.Int64N(int64(2*w.timing.LeaseDuration)))
		w.every(gap, w.advanceMoves)
	}
}

func (l *locks) moves() bool { return l.old.Name != "" }

// electionOf is the election that has a lock of the given name; negative if none has.
func (w *world) electionOf(name string) int {
	return slices.IndexFunc(w.locks, func(l locks) bool { return name != "" && (l.own.Name == name || l.old.Name == name) })
}

// advanceMoves gives one host the locks of the present stage, or begins the next stage once all hosts have
// the locks of the present one.
func (w *world) advanceMoves() {
	if w.calm {
		return
	}
	for e := range w.locks {
		l := &w.locks[e]
		if !l.moves() {
			continue
		}
		behind := slices.DeleteFunc(slices.Clone(w.hosts), func(h *host) bool { return h.stages[e] == l.stage })
		switch {
		case len(behind) > 0:
			h := behind[w.rng.IntN(len(behind))]
			h.stages[e] = l.stage
			w.logf(h.name, "%s: is given locks of stage %d", w.elections[e], l.stage)
			w.cov.saw(LocksGiven)
			if h.proc != nil {
				h.proc.inc.exchanged(e)
			}
		case !w.settledIn(e):
		case l.stage == bothLocks && w.chance(0.2):
			l.stage = oldOnly // somebody turns the move around
			w.cov.saw(TurnedAround)
		case l.stage < ownOnly:
			l.stage++
		case w.chance(0.3):
			w.moveBack(e)
		}
	}
}

// moveBack begins to move the election back: the same move with the locks exchanged.
func (w *world) moveBack(e int) {
	l := &w.locks[e]
	l.old, l.own, l.oldApart, l.ownApart = l.own, l.old, l.ownApart, l.oldApart
	l.stage = oldOnly
	for _, h := range w.hosts {
		h.stages[e] = oldOnly
		if h.proc != nil && h.proc.inc.contests[e] != nil {
			h.proc.inc.contests[e].stage = oldOnly
		}
	}
	w.logf("world", "%s: moves back", w.elections[e])
	w.cov.saw(MovedBack)
}

// settledIn says whether all running processes use the locks that their hosts know.
func (w *world) settledIn(e int) bool {
	for _, h := range w.hosts {
		if h.proc == nil || h.proc.between || !h.takesPart[e] && h.proc.inc.contests[e] == nil {
			continue
		}
		if m := h.proc.inc.contests[e]; m == nil || m.removed || m.stage != h.stages[e] {
			return false
		}
	}
	return true
}

// exchanged tells the member, if it runs, that elections get other locks or settings.
func (i *incarnation) exchanged(elections ...int) {
	if i.p.between || i.member.Leaving() != "" {
		return
	}
	var in []member.Input
	for _, e := range elections {
		if m := i.contests[e]; m != nil && !m.removed {
			if m.removed = true; m.leads() {
				i.p.h.w.cov.saw(Exchanged)
			}
			in = append(in, member.Removed{ID: m.id, Why: machine.ReasonExchanged})
		}
	}
	if len(in) > 0 {
		i.p.tell(fromTimer, i, in...)
	}
}

// give fills in which locks the member is to use for the election.
func (m *contest) give(s *member.Election) {
	h, e := m.i.p.h, m.election
	l := &h.w.locks[e]
	m.stage = h.stages[e]
	s.Lock, s.Locks = l.own.Name, h.w.storeOf(l.ownApart)
	switch {
	case m.stage == oldOnly:
		s.Lock, s.Locks = l.old.Name, h.w.storeOf(l.oldApart)
	case m.stage == bothLocks:
		s.MigrateFrom = &member.LockRef{Lock: l.old.Name, Locks: h.w.storeOf(l.oldApart)}
		m.outer = &contest{i: m.i, election: e, name: l.old.Name, id: m.id, stage: m.stage, settings: s.Settings}
	}
	m.name = s.Lock
	if l.ranged {
		if h.ranges[e] == nil {
			h.ranges[e] = &member.Ranges{}
		}
		s.Range, s.Ranges = true, h.ranges[e]
	}
}

// besideTheMove says whether the member knows only the old lock, and that lock is stored apart. Then its
// token may be lower than that of a member that held both locks and could not renew the old one
// (decision 24).
func (m *contest) besideTheMove() bool {
	return m.stage == oldOnly && m.i.p.h.w.locks[m.election].oldApart
}

// span is the range of a term, as the term's member reports it.
type span struct {
	identity string
	member.Range
}

// within judges the range that a member reports for its term: it must not overlap another term's range.
func (j *judge) within(m *contest, r *member.Range) {
	if r == nil {
		return
	}
	e := m.election
	is := span{m.i.identity, *r}
	for n, o := range j.spans[e] {
		if o.identity == is.identity && o.Token == is.Token {
			j.spans[e] = slices.Delete(j.spans[e], n, n+1)
			break
		}
	}
	for _, o := range j.spans[e] {
		if !is.Start.After(o.End) && !o.Start.After(is.End) {
			j.w.violate("range", "%s: %s (token %d) has %v to %v, and %s (token %d) %v to %v", j.w.elections[e],
				is.identity, is.Token, is.Start, is.End, o.identity, o.Token, o.Start, o.End)
		}
	}
	j.spans[e] = append(j.spans[e], is)
	j.w.cov.saw(RangeGiven)
}
