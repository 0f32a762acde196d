package sim

import (
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// parents end the sessions of processes that died (rule proof-not-patience). The parent of a process waits until all
// work of the process has ended, and then ends each session that the process told it of, after any delay. It is
// a small model of package parent, and ends sessions with the product's own session.Bury.
type parents struct {
	rng *rand.Rand
	// late is how often a parent is starved: then its proof comes at any time, even after a lease.
	late float64
	// hasty parents neither kill nor await what their members leave: a test plants them. unseen: the judge does not look
	// at what parents do, only at what follows from it.
	hasty, unseen bool
}

// announced is a session that a process is about to create.
type announced struct{ name, identity string }

// pickParents decides which hosts have a parent for their processes: all, some, or in half of the runs none.
func (w *world) pickParents(rng *rand.Rand) {
	w.parents = parents{rng: rng, late: []float64{0, 0.3}[rng.IntN(2)]}
	among := []float64{0, 0, 0.6, 1}[rng.IntN(4)]
	for _, h := range w.hosts {
		h.guarded = rng.Float64() < among
	}
}

// proofs are the proofs that the host's members accept.
func (h *host) proofs() []record.Proof {
	if h.guarded {
		return append([]record.Proof{record.ProofParent}, h.accepts...)
	}
	return h.accepts
}

// hears has the parent note a session before the write that creates it.
func (p *proc) hears(name string, r *record.Record) {
	one := announced{name, r.Holder}
	if n := len(p.told); p.h.guarded && r.Holder != "" && (n == 0 || p.told[n-1] != one) {
		p.told = append(p.told, one)
	}
}

// works says whether work of the process, of any of its incarnations, goes on.
func (p *proc) works() bool { return len(p.working()) > 0 }

// mourn is called when the process has died, and whenever work of a dead process has ended.
func (p *proc) mourn() {
	w := p.h.w
	if !p.h.guarded || !p.dead || p.mourned || p.works() && !w.parents.hasty {
		return
	}
	p.mourned = true
	at := w.wall().Add(p.h.wallOffset)
	rng := w.parents.rng
	delay := time.Duration(rng.Int64N(int64(50 * time.Millisecond)))
	if rng.Float64() < w.parents.late {
		delay = time.Duration(rng.Int64N(int64(2 * w.timing.LeaseDuration)))
	}
	w.after(delay, func() { p.bury(at, 0) })
}

// bury ends the sessions that the process was told of. Between its read and its write it may be frozen for long.
func (p *proc) bury(at time.Time, tries int) {
	w := p.h.w
	rng := w.parents.rng
	again := false
	for _, t := range p.told {
		e := w.store.read(t.name)
		if e.Record == nil || e.Record.Holder != t.identity {
			again = again || e.Record == nil // its write may be on its way
			continue
		}
		again = true
		buried, err := session.Bury(e.Record, e.Version, record.Death{Proof: record.ProofParent, Identity: t.identity, By: "parent of " + t.identity, How: "killed", At: at})
		if err != nil {
			continue
		}
		gap := time.Duration(rng.Int64N(int64(20 * time.Millisecond)))
		if rng.Float64() < w.parents.late {
			gap = time.Duration(rng.Int64N(int64(2 * w.timing.LeaseDuration)))
		}
		w.after(gap, func() {
			if stored, err := w.store.put(w.now, t.name, &buried, e.Version); err == nil {
				w.logf(p.h.name, "parent ends %s of %s", t.name, t.identity)
				w.cov.saw(Buried)
				w.judge.buried(p, t.identity, stored.Version.UID)
			}
		})
	}
	if again && tries < 40 {
		w.after(100*time.Millisecond+time.Duration(rng.Int64N(int64(100*time.Millisecond))), func() { p.bury(at, tries+1) })
	}
}

// buried is called when a parent has just ended the session of a process.
func (j *judge) buried(p *proc, identity, uid string) {
	if j.restored() {
		return
	}
	if (!p.dead || p.works()) && !j.w.parents.unseen {
		j.w.violate("rule proof-not-patience", "the parent of %s ends its session although it is not dead with all its work", identity)
	}
	if f := j.members[identity]; f != nil {
		f.proved = true
		f.sessionEnded = f.sessionEnded || f.sessionUID == uid
	}
}
