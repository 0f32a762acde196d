package sim

import (
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// late is the plan of a run in which configurations come late. In half of these runs nobody takes part in one
// election at first: later the hosts are given it one after the other, and their members have watched its lock
// be absent for long. In the other half newcomers come to a lock that was just deleted: its holder's stream
// stands still, so that the holder works on for as long as it may. A newcomer must not take the lock for one
// that never was. A third of the seeds has such a plan, except for the class Rollouts.
type late struct {
	rng      *rand.Rand
	election int
	// hosts are given the election, in this order.
	hosts []*host
}

func (w *world) pickLate(rng *rand.Rand) {
	if rng.IntN(3) > 0 || w.options.Class == Rollouts || w.mixed {
		return
	}
	l := &late{rng: rng, election: rng.IntN(len(w.elections))}
	if rng.IntN(2) == 0 && !w.shared(l.election) {
		for _, n := range rng.Perm(len(w.hosts)) {
			if h := w.hosts[n]; h.takesPart[l.election] {
				l.hosts, h.takesPart[l.election] = append(l.hosts, h), false
			}
		}
	}
	w.late = l
}

func (w *world) beginLate() {
	l := w.late
	if l == nil {
		return
	}
	lease := int64(w.timing.LeaseDuration)
	if len(l.hosts) == 0 {
		w.at(2*lease+l.rng.Int64N(lease), w.newcomer)
		return
	}
	at := lease + l.rng.Int64N(w.calmAt-2*lease)
	for _, h := range l.hosts {
		w.at(min(at, w.calmAt-1), func() {
			w.logf(h.name, "%s: given late", w.elections[l.election])
			w.cov.saw(GivenLate)
			h.takesPart[l.election] = true
			if h.proc != nil {
				h.proc.inc.reconfigured(l.election)
			}
		})
		at += l.rng.Int64N(lease / 2)
	}
}

// newcomer deletes the lock of an election that is led, keeps its holder from seeing that, and gives the
// election to a member that took no part in it so far.
func (w *world) newcomer() {
	l := w.late
	if w.calm {
		return
	}
	w.after(time.Duration(l.rng.Int64N(int64(3*w.timing.LeaseDuration))), w.newcomer)
	e := l.election
	m := w.leader(e)
	var h *host
	for _, n := range l.rng.Perm(len(w.hosts)) {
		switch o := w.hosts[n]; {
		case o.proc == nil || o.proc.paused || o.proc.between || o.proc.leaving || o.proc.inc.member.Leaving() != "" || m != nil && o.proc.inc == m.i:
		case o.proc.inc.contests[e] == nil && !o.takesPart[e]:
			h = o
		case o.takesPart[e] && o.proc.inc.contests[e] != nil && !o.proc.inc.contests[e].removed && l.rng.IntN(2) == 0:
			o.takesPart[e] = false // it comes back as a newcomer
			o.proc.inc.reconfigured(e)
		}
	}
	if m == nil || h == nil || !w.happens(LockDeleted) {
		return
	}
	name := m.name
	m.i.each(func(s *stream) { s.stall(w.timing.LeaseDuration) })
	if !w.deleteAt(e) {
		return
	}
	w.logf(h.name, "%s: comes to it as %s was deleted", w.elections[e], name)
	w.cov.saw(DeletedForNewcomer)
	w.after(time.Duration(l.rng.Int64N(int64(w.timing.RenewInterval))), func() {
		if h.proc != nil && !w.calm {
			h.takesPart[e] = true
			h.proc.inc.reconfigured(e)
		}
	})
}

// noteKnown notes for which of the elections that the member was just given it knew, without a list, that there
// is no lock.
func (i *incarnation) noteKnown(in []member.Input) {
	for _, one := range in {
		given, is := one.(member.Elections)
		if !is {
			continue
		}
		for _, e := range given.Added {
			m := i.contestOf(e.ID)
			if m == nil {
				continue
			}
			if s := m.state(); s != nil && s.Lock.Seen {
				m.shown(lock.Entry{Record: s.Lock.Record, Version: s.Lock.Version})
				i.p.h.w.cov.saw(ListSkipped)
			}
		}
	}
}

// fresh says whether the contest took its lock, sent at the instant, sooner than the sight of its creation
// allows.
func (m *contest) fresh(sent record.Instant) bool {
	s := m.state()
	if s == nil || s.Lock.Owner != machine.Unowned || s.Lock.AbsentSince() == 0 || m.i.p.h.w.bootstrap[m.election] != machine.BootstrapWait {
		return false
	}
	return s.ValidUntil() < sent && sent < s.Lock.LastSign().Add(m.timing().LeaseDuration/2)
}
