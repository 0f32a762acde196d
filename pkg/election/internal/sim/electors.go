package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// This file decides which elections of some seeds are shared with foreign electors, and what goes wrong with
// those electors.

// share decides which elections are shared, and with whom. It has a random source of its own, so other seeds
// are unaffected.
func (w *world) share(rng *rand.Rand) {
	w.foreign = make([]machine.Foreigners, len(w.elections))
	w.foreignLease = make([]time.Duration, len(w.elections))
	sharing := machine.NotShared
	switch p := rng.Float64(); {
	case w.options.Class != Judged && w.options.Class != PutBack && w.options.Class != Outages:
	case p < 0.15:
		sharing = machine.SharedWithClientGo
	case p < 0.2 && w.timing.LeaseDuration >= 5*time.Second:
		sharing = machine.SharedWithIstio
	}
	if sharing == machine.NotShared {
		return
	}
	w.mixed = false // our leaseDuration must not be shorter than theirs
	for e := range w.elections {
		if e > 0 && rng.IntN(2) == 0 {
			continue
		}
		w.foreign[e].Sharing = sharing
		w.bootstrap[e] = machine.BootstrapWait
		w.store.wholeSeconds[w.elections[e]] = rng.IntN(2) == 0
		lease := w.timing.LeaseDuration
		if rng.IntN(4) == 0 {
			lease -= time.Second
		}
		releases := rng.IntN(3) > 0
		if sharing == machine.SharedWithIstio {
			lease, releases = 30*time.Second, true
		}
		w.foreignLease[e] = lease
		stated := !releases && rng.IntN(2) == 0
		for range 1 + rng.IntN(2) {
			f := &elector{
				w: w, name: fmt.Sprintf("f%d", len(w.electors)), election: e, istio: sharing == machine.SharedWithIstio,
				lease: lease, renewDeadline: lease * 2 / 3, retryPeriod: lease * 2 / 15,
				releases: releases, rereads: rng.IntN(3) > 0, named: rng.IntN(3) == 0,
			}
			if f.istio {
				f.key = record.NewKey(revisions[rng.IntN(2)], []record.Location{record.Local, record.Local, record.Remote}[rng.IntN(3)])
				f.renewDeadline, f.retryPeriod, f.rereads = 15*time.Second, 7500*time.Millisecond, false
			}
			w.electors = append(w.electors, f)
			if stated {
				w.foreign[e].Wait = f.stopsAfter()
			}
		}
	}
	if sharing == machine.SharedWithClientGo {
		w.retime(rng)
	}
	alike := rng.IntN(6) == 0
	for _, f := range w.electors {
		f.alike = alike
	}
}

// retime gives the electors of some elections other timings that client-go accepts: a renewDeadline of 0.6 to 0.99
// leases, and a retryPeriod of 0.1 to 0.82 renewDeadlines. It states the timings of some.
func (w *world) retime(rng *rand.Rand) {
	for e := range w.elections {
		deadline, period, stated := 2./3, 0.2, rng.IntN(4) == 0
		if rng.IntN(2) == 0 {
			deadline, period = 0.6+0.39*rng.Float64(), 0.1+0.72*rng.Float64()
		}
		for _, f := range w.electors {
			if f.election != e {
				continue
			}
			f.renewDeadline = time.Duration(deadline * float64(f.lease))
			f.retryPeriod = time.Duration(period * float64(f.renewDeadline))
			f.patient = rng.IntN(2) == 0
			if stated || w.foreign[e].Wait > 0 {
				w.foreign[e].Wait = f.stopsAfter()
			}
		}
	}
}

// stopsAfter is how long after its last renewal the elector may be at work: a late reply, the attempts after it,
// and a release that hangs.
func (e *elector) stopsAfter() time.Duration { return 3*e.renewDeadline + e.retryPeriod }

func (w *world) shared(e int) bool { return w.foreign[e].Sharing != machine.NotShared }

// someElector is a running process of an elector, preferably one at work; nil if there is none.
func (w *world) someElector() *run {
	if w.chance(0.6) {
		for _, e := range w.electors {
			if e.run != nil && e.run.working {
				return e.run
			}
		}
	}
	return pick(w, w.electors).run
}

func (w *world) crashElector() bool {
	r := w.someElector()
	if r == nil {
		return false
	}
	r.kill("SIGKILL")
	w.after(w.between(0, w.timing.LeaseDuration*2), r.e.boot)
	return true
}

func (w *world) pauseElector() bool {
	r := w.someElector()
	if r == nil || r.paused {
		return false
	}
	d := w.spell()
	w.logf(r.e.name, "stopped for %v", d)
	r.paused = true
	w.after(d, r.resume)
	w.at(r.renewedAt+int64(r.e.renewDeadline), func() {
		if r.paused && r.working && w.now >= r.renewedAt+int64(r.e.renewDeadline) {
			r.overslept = true
			r.rest()
		}
	})
	return true
}

func (w *world) cancelElector() bool {
	r := w.someElector()
	if r == nil || r.paused || r.givingUp {
		return false
	}
	w.logf(r.e.name, "is told to leave")
	r.cancel()
	return true
}

// claimed is called after every claim. An elector at work may be told to leave just then; its release then
// overwrites a claim that it has not seen.
func (w *world) claimed(e int) {
	for _, r := range w.workingElectors(e) {
		if !w.calm && w.chance(0.1) {
			w.after(w.upTo(r.e.retryPeriod), func() {
				if !r.dead && !r.paused && !r.givingUp {
					w.logf(r.e.name, "is told to leave")
					w.cov.saw(ElectorLeave)
					r.cancel()
				}
			})
		}
	}
}

func (w *world) cutOffElector() bool {
	r := w.someElector()
	if r == nil {
		return false
	}
	d := w.spell()
	writes, reads := requestLost+fate(w.rng.IntN(int(fates-requestLost))), []fate{delivered, requestLost, replySlow}[w.rng.IntN(3)]
	w.logf(r.e.name, "link: writes %d, reads %d for %v", writes, reads, d)
	r.e.link.out(writes, reads, d)
	r.e.link.lastSlow = writes == requestLost && w.chance(0.5)
	return true
}

// becalmElectors ends all faults of electors. Some electors are gone for good.
func (w *world) becalmElectors() {
	for _, e := range w.electors {
		e.link.writesUntil, e.link.readsUntil = 0, 0
		switch {
		case w.chance(0.3):
			e.gone = true
			if e.run != nil {
				e.run.kill("for good")
			}
		case e.run == nil:
			w.after(w.upTo(time.Second), e.boot)
		default:
			e.run.resume()
		}
		w.after(w.upTo(time.Second), e.syncPreference)
	}
}

func (e *elector) syncPreference() { e.prefers = e.w.preferred[e.election] }
