package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Outages: the store falls silent for all members alike, again and again, and some elections fail
// open. A member that is cut off alone gives the guarantee away, so none is here. Where all are cut
// off, nobody may work beside a term that fails open: after an outage its holder is the first to write.

// notOfAll are the faults that meet one member alone, or edit a lock: each gives the guarantee away.
var notOfAll = []Fault{WritesOut, ReadsOut, Partition, Outage, CutResumed, LockDeleted, LockEdited, Ambush, SessionDeleted, SessionEdited, LabelStorm}

// pickOutages says which elections fail open. Those are renewed by their records.
func (w *world) pickOutages(rng *rand.Rand) {
	w.outages = make([]machine.Outage, len(w.elections))
	if w.options.Class != Outages {
		return
	}
	w.noise = 0
	for e := range w.outages {
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

// outlasts is for how long the contest's terms may outlast an outage.
func (m *contest) outlasts() time.Duration { return m.i.p.h.w.outages[m.election].For }

// silence is a time in which the store said nothing to anybody.
type silence struct{ from, to int64 }

// silence takes the store away from everybody: it says nothing at all, and forgets what it was asked.
func (w *world) silence() bool {
	d := w.spell()
	if w.chance(0.5) {
		d += w.upTo(4 * w.timing.LeaseDuration)
	}
	d = min(d, time.Duration(w.calmAt-w.now))
	w.logf("world", "silence for %v", d)
	if n := len(w.silences); n > 0 && w.silences[n-1].to > w.now {
		w.silences[n-1].to = w.now + int64(d) // links obey the last word
	} else {
		w.silences = append(w.silences, silence{from: w.now, to: w.now + int64(d)})
	}
	for _, h := range w.hosts {
		h.link.out(requestLost, requestLost, d)
		h.link.deafUntil = w.now + int64(d)
		if h.proc != nil {
			h.proc.inc.each(func(s *stream) { s.stall(d) })
		}
	}
	return true
}

// surelyNoticed is for how long nothing was said in a silence that each running member notices: more
// than two renewIntervals lie between the beats of its session that came through.
func (w *world) surelyNoticed() time.Duration {
	return time.Duration(float64(2*w.timing.RenewInterval) * (1 + 2*drift))
}

// excused says whether work goes on beside the next leader for the reason for which docs/ranges.md says that
// it may: its term failed open past its validity in silences too short to be noticed, and nobody was there to
// stop it, since its process died or was frozen.
func (w *world) excused(k *work) bool {
	p, m := k.m.i.p, k.m
	if w.options.Class != Outages || !p.dead && !p.paused {
		return false
	}
	noticed := func(s silence) bool {
		return s.to >= p.h.clock.when(m.committedSent) && time.Duration(s.to-s.from) > w.surelyNoticed()
	}
	valid, now := m.committedSent.Add(m.timing().Validity()), p.h.clock.local(w.now)
	if now < valid || k.until <= valid || slices.ContainsFunc(w.silences, noticed) {
		return false
	}
	w.cov.Excused++
	w.logf("judge", "%s: the work of %s goes on after a silence that was too short to be noticed", m.name, m.i.identity)
	return true
}

// happens says whether faults of the kind may happen in this run.
func (w *world) happens(f Fault) bool {
	switch {
	case w.mixed && slices.Contains(notMixed, f):
		return false
	case w.options.Class == Outages:
		return !slices.Contains(notOfAll, f)
	}
	return true
}
