package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// The class Outages: the store falls silent for all members alike, again and again, and some elections
// fail open. No member is cut off alone, since that breaks the guarantee. When all are cut off, nobody else
// may work during a term that fails open: after an outage its holder is the first to write.

// notOfAll are the faults that hit one member alone, or edit a lock: each of them breaks the guarantee.
var notOfAll = []Fault{WritesOut, ReadsOut, Partition, Outage, CutResumed, LockDeleted, LockEdited, Ambush, SessionDeleted, SessionEdited, LabelStorm, Denied}

// pickOutages decides which elections fail open. Terms of these elections are renewed by their records.
func (w *world) pickOutages(rng *rand.Rand) {
	w.outages = make([]machine.Outage, len(w.elections))
	if w.silent() {
		w.noise = min(w.noise, 0.05) // a lease of requests that are all lost has to be an outage
	}
	if w.options.Class != Outages {
		return
	}
	for e := range w.outages {
		if w.shared(e) {
			continue
		}
		switch rng.IntN(3) {
		case 0:
			w.outages[e] = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
		case 1:
			w.outages[e] = machine.Outage{Mode: machine.OutageFailOpen, For: time.Duration(rng.Int64N(int64(4 * w.timing.LeaseDuration)))}
		default:
			continue
		}
		for _, h := range w.hosts {
			h.renewal[e] = record.RenewalRecord
		}
	}
}

// outlasts is for how long the contest's terms go on in an outage.
func (m *contest) outlasts() time.Duration { return m.settings.Outage.For }

// silence is a time in which the store answered nobody.
type silence struct{ from, to int64 }

// silence takes the store away from everybody: it answers nothing, and drops every request.
func (w *world) silence() bool {
	d := w.spell()
	if w.chance(0.5) {
		d += w.upTo(4 * w.timing.LeaseDuration)
	}
	d = min(d, time.Duration(w.calmAt-w.now))
	w.logf("world", "silence for %v", d)
	if n := len(w.silences); n > 0 && w.silences[n-1].to > w.now {
		w.silences[n-1].to = w.now + int64(d) // for links the newest silence counts
	} else {
		w.silences = append(w.silences, silence{from: w.now, to: w.now + int64(d)})
	}
	w.words.away(d)
	for _, h := range w.hosts {
		h.link.out(requestLost, requestLost, d)
		h.link.deafUntil = w.now + int64(d)
		if h.proc != nil {
			h.proc.inc.each(func(s *stream) { s.stall(d) })
		}
	}
	return true
}

// mustOutlast says whether the contest's term had to outlast its last renewal: it fails open, there was time left
// for that, the store gave no definite answer to a write since, and the process ran all the while.
func (w *world) mustOutlast(m *contest) bool {
	now, t, s := m.i.now(), m.timing(), m.state()
	return s != nil && m.outlasts() > 0 && m.outer == nil && m.askedAt != 0 && !m.saidNo && !m.i.several &&
		now < s.ValidUntil().Add(m.outlasts()-t.Extension()) && w.now-max(m.i.p.resumedAt, m.i.p.heldUpAt) > int64(2*t.RenewInterval)
}

// surelyNoticed bounds the silences that a running member may overlook. In a longer one more than two
// renewIntervals pass between the beats of its session that get through.
func (w *world) surelyNoticed() time.Duration {
	return time.Duration(float64(2*w.timing.RenewInterval) * (1 + 2*drift))
}

// excused says whether docs/ranges.md allows the work to go on while the next leader works: its term failed
// open past its validity in silences too short to be noticed, and its process died or was frozen, so that
// nobody could stop the work.
func (w *world) excused(k *work) bool {
	p, m := k.m.i.p, k.m
	if !w.silent() {
		return false
	}
	halfway := w.changes.halfway(k.m.election, p.h.clock.when(m.committedSent))
	if !p.dead && !p.paused && !halfway {
		return false
	}
	t := m.timing()
	valid, now := m.committedSent.Add(t.Validity()), p.h.clock.local(w.now)
	if now < valid || k.until <= valid || k.until > valid.Add(t.Extension()) && !halfway {
		return false
	}
	if halfway {
		w.cov.saw(OverlapHalfway)
		return true
	}
	since := p.h.clock.when(m.committedSent)
	silences := slices.DeleteFunc(slices.Clone(w.silences), func(s silence) bool { return s.to < since })
	noticed := func(s silence) bool { return time.Duration(s.to-s.from) > w.surelyNoticed() }
	if len(silences) == 0 || slices.ContainsFunc(silences, noticed) {
		return false
	}
	if k.excused {
		return true
	}
	k.excused = true
	w.cov.Excused++
	w.logf("judge", "%s: the work of %s goes on after a silence that was too short to be noticed", m.name, m.i.identity)
	return true
}

// happens says whether faults of this kind may happen in this run.
func (w *world) happens(f Fault) bool {
	switch {
	case w.mixed && slices.Contains(notMixed, f), f == Silence && !w.silent():
		return false
	case w.silent():
		return !slices.Contains(notOfAll, f)
	}
	return true
}
