package sim

import (
	"math/rand/v2"
	"time"
)

// bursts is how a driver takes in what reaches it as the product's does: what waits is
// handled first, in the order in which it came, and only then, once, what is due. A process
// without it handles one thing at a time, and draws all consequences after each.
type bursts struct {
	p *proc
	// inbox is what came by the streams, by replies and from the work; beside, what comes by
	// ways of its own: preferences, configuration, the word to leave. due: an alarm went off.
	inbox, beside []func()
	due           bool
	// held: something waits, since then.
	held  bool
	since int64
	// planned: it will wake up. awake: it just does.
	planned, awake bool
}

// burstiness is how the processes of a run take in what reaches them. Its random numbers
// are its own: a run without bursts is what it would be if there were none.
type burstiness struct {
	rng *rand.Rand
	// share of the processes takes in bursts, and heldUp is how likely such a process is
	// held up for longer than a moment.
	share, heldUp float64
}

// burstStream picks the seeds with bursts, half of all. None of those is among them that
// testdata/regressions.txt named when bursts came: they mean what they meant.
const burstStream = 0x30b20c9652879364

func pickBurstiness(seed uint64) burstiness {
	b := burstiness{rng: rand.New(rand.NewPCG(seed, burstStream))}
	if b.rng.IntN(2) == 0 {
		return b
	}
	b.share = []float64{0.5, 1}[b.rng.IntN(2)]
	b.heldUp = []float64{0, 0.002, 0.02}[b.rng.IntN(3)]
	return b
}

// newBursts is for a process that boots; nil if it handles one thing at a time.
func newBursts(p *proc) *bursts {
	if b := &p.h.w.burstiness; b.share == 0 || b.rng.Float64() >= b.share {
		return nil
	}
	return &bursts{p: p}
}

// moment is how long a process takes to wake up when nothing holds it up.
const moment = 2 * time.Millisecond

// delay is how long it takes until the driver takes in what waits.
func (b *bursts) delay() time.Duration {
	w := b.p.h.w
	rng := w.burstiness.rng
	switch x := rng.Float64(); {
	case x < w.burstiness.heldUp && !w.calm:
		return time.Duration(rng.Int64N(int64(w.timing.RenewInterval)))
	case x < 0.6:
		return 0
	}
	return time.Duration(rng.Int64N(int64(moment)))
}

// take has f handled when the driver wakes up.
func (b *bursts) take(o origin, f func()) {
	if o == fromTimer {
		b.beside = append(b.beside, f)
	} else {
		b.inbox = append(b.inbox, f)
	}
	b.plan()
}

// ring: an alarm went off.
func (b *bursts) ring() {
	b.due = true
	b.plan()
}

func (b *bursts) plan() {
	w := b.p.h.w
	if !b.held {
		b.held, b.since = true, w.now
	}
	if b.planned || b.awake || b.p.paused {
		return
	}
	b.planned = true
	w.after(b.delay(), b.wake)
}

// resumed: the process was stopped since then. What came in meanwhile is read by whoever
// comes first.
func (b *bursts) resumed(since int64) {
	p := b.p
	if !b.held {
		b.held, b.since = true, since
	}
	for {
		var waiting []origin
		for o := range origins {
			if len(p.inbox[o]) > 0 {
				waiting = append(waiting, o)
			}
		}
		if len(waiting) == 0 {
			break
		}
		o := waiting[p.h.w.burstiness.rng.IntN(len(waiting))]
		f := p.inbox[o][0]
		p.inbox[o] = p.inbox[o][1:]
		p.deliver(o, f)
	}
	b.plan()
}

// wake takes in all that waits. What of it comes first is chance, but what came by the inbox
// comes in its order, and not always all of it is there yet.
func (b *bursts) wake() {
	b.planned, b.awake = false, true
	w, p := b.p.h.w, b.p
	rng := w.burstiness.rng
	for p.runs() && w.violation == "" {
		ready := make([]int, 0, 3)
		for n, is := range []bool{len(b.inbox) > 0, len(b.beside) > 0, b.due} {
			if is {
				ready = append(ready, n)
			}
		}
		if len(ready) == 0 {
			b.held = false
			break
		}
		taken := 0
		switch ready[rng.IntN(len(ready))] {
		case 0:
			taken = len(b.inbox)
			if rng.IntN(4) == 0 {
				taken = 1 + rng.IntN(taken)
			}
			b.drain(taken)
		case 1:
			f := b.beside[0]
			b.beside = b.beside[1:]
			f()
		default:
			b.due = false
		}
		if p.runs() {
			p.inc.attend(taken)
		}
	}
	b.awake = false
}

// drain handles what came in first, and nothing else between.
func (b *bursts) drain(n int) {
	w := b.p.h.w
	if n > 1 {
		w.cov.saw(Burst)
		if w.tracing() {
			w.logf(b.p.h.name, "takes in %d at once, the first after %v", n, time.Duration(w.now-b.since))
		}
	}
	if w.now-b.since > int64(moment) && b.p.resumedAt < b.since {
		w.cov.saw(HeldUp)
	}
	for range n {
		f := b.inbox[0]
		b.inbox = b.inbox[1:]
		f()
	}
}

// heldUp says whether the process was held up for that long, by its clock, before it came
// to what it does now.
func (p *proc) heldUp(d time.Duration) bool {
	now := p.h.w.now
	if p.bursts == nil {
		return p.resumedAt == now
	}
	since := p.bursts.since
	return p.bursts.held && d <= p.h.clock.local(now).Sub(p.h.clock.local(since))+time.Microsecond
}
