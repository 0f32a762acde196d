package sim

import (
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// This file decides what the end of a member means for an election: which elections wait for a lease in spite of a proof
// (OnDeathLease), and which locks an elector that is not ours once held.

// pickDeaths has a random source of its own, so other choices are unaffected.
func (w *world) pickDeaths(rng *rand.Rand) {
	w.onDeath = make([]machine.OnDeath, len(w.elections))
	w.relics, w.relicUIDs = make([]relic, len(w.elections)), map[string]string{}
	for e := range w.elections {
		w.onDeath[e] = machine.OnDeathProof
		lease, unless, old := rng.IntN(4) == 0, rng.IntN(2) == 0, relic(rng.IntN(4))
		if lease && w.outages[e].Mode != machine.OutageFailOpen && !w.shared(e) {
			w.onDeath[e] = machine.OnDeathLease
		}
		if !unless || w.shared(e) {
			continue
		}
		for _, h := range w.hosts {
			if h.renewal[e] == record.RenewalSession {
				h.renewal[e] = record.RenewalUnlessForeign
				w.relics[e] = old
			}
		}
	}
	for _, h := range w.hosts {
		h.reboots = rng.IntN(2) == 0
	}
}

// relic is what an elector of another kind left in a lock before the run. None of them runs any more.
type relic int

const (
	noRelic relic = iota
	// heldByForeign: it died as the holder.
	heldByForeign
	// releasedByForeign: it released the lock.
	releasedByForeign
	// handedBack: a member of ours held the lock after it, and noted that, and released the lock.
	handedBack
)

// leaveRelics stores what other electors left.
func (w *world) leaveRelics() {
	for e, is := range w.relics {
		r := record.Record{Transitions: 1, Duration: w.timing.LeaseDuration, Group: group, Election: w.elections[e]}
		r.Acquired, r.Renewed = w.wall().Add(-time.Hour), w.wall().Add(-time.Hour)
		switch is {
		case heldByForeign:
			r.Holder = "client-go-5d7c9_8a1b"
		case releasedByForeign:
			r.Duration = time.Second
		case handedBack:
			r.Duration = time.Second
			r.Mark = &record.Mark{Transitions: 1, Beat: 1, Duration: w.timing.LeaseDuration, Renewal: record.RenewalRecord, WasForeign: true}
		default:
			continue
		}
		stored, err := w.store.put(w.now, w.locks[e].own.Name, &r, record.Version{})
		if err != nil {
			panic(err)
		}
		w.relicUIDs[stored.Name] = stored.Version.UID
		w.cov.saw(RelicLeft)
	}
}

// relicIn says whether the lock is still the object in which another elector left something.
func (w *world) relicIn(name string) bool {
	return w.relicUIDs[name] != "" && w.store.read(name).Version.UID == w.relicUIDs[name]
}

// reap has the parent kill what its member left behind.
func (p *proc) reap() {
	w := p.h.w
	if !p.h.guarded || w.parents.hasty {
		return
	}
	rng := w.parents.rng
	delay := time.Duration(rng.Int64N(int64(50 * time.Millisecond)))
	if rng.Float64() < w.parents.late {
		delay = time.Duration(rng.Int64N(int64(2 * w.timing.LeaseDuration)))
	}
	w.after(delay, func() {
		for _, k := range p.working() {
			k.off("killed by its parent")
		}
	})
}

// working is the work of the process, of any of its incarnations, that goes on.
func (p *proc) working() (all []*work) {
	for _, working := range p.h.w.judge.working {
		for _, k := range working {
			if k.m.i.p == p {
				all = append(all, k)
			}
		}
	}
	return all
}
