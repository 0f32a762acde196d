package sim

import (
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
)

// bursts has a process take in input as the product's host does: it tells its member at once, in order,
// everything that waits. A process without bursts tells its member one thing at a time.
type bursts struct {
	p *proc
	// inbox holds input from streams, replies and the work. beside holds input that does not pass through the
	// inbox: preferences, configuration, the request to leave. due says that an alarm went off.
	inbox, beside []told
	due           bool
	// held says that input or an alarm waits, and since says since when.
	held  bool
	since int64
	// planned: a wake-up is scheduled. awake: wake is running.
	planned, awake bool
}

// told is input that waits for an incarnation.
type told struct {
	i  *incarnation
	in []member.Input
}

// burstiness says how the processes of a run take in input. It has a random source of its own, so a run
// without bursts is the same as if bursts did not exist.
type burstiness struct {
	rng *rand.Rand
	// share is the share of processes that take in input in bursts. heldUp is the probability that such a
	// process is held up for longer than a moment.
	share, heldUp float64
}

func pickBurstiness(seed uint64) burstiness {
	b := burstiness{rng: rand.New(rand.NewPCG(seed, 0x30b20c9652879364))}
	if b.rng.IntN(2) == 0 {
		return b
	}
	b.share = []float64{0.5, 1}[b.rng.IntN(2)]
	b.heldUp = []float64{0, 0.002, 0.02}[b.rng.IntN(3)]
	return b
}

// newBursts is called for a process that boots. It returns nil if the process handles one thing at a
// time.
func newBursts(p *proc) *bursts {
	if b := &p.h.w.burstiness; b.share == 0 || b.rng.Float64() >= b.share {
		return nil
	}
	return &bursts{p: p}
}

// moment is how long a process takes to wake up when nothing holds it up.
const moment = 2 * time.Millisecond

// delay is how long the process takes until it reads what waits.
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

// take keeps input until the process wakes up.
func (b *bursts) take(o origin, t told) {
	if o == fromTimer {
		b.beside = append(b.beside, t)
	} else {
		b.inbox = append(b.inbox, t)
	}
	b.plan()
}

// ring says that an alarm went off.
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

// resumed ends a stop (SIGSTOP) that began at since. Input that arrived meanwhile is read in a random order
// of origins.
func (b *bursts) resumed(since int64) {
	p := b.p
	if !b.held {
		b.held, b.since = true, since
	}
	p.read(p.h.w.burstiness.rng)
	b.plan()
}

// wake takes in all that waits. Chance decides whether inbox, beside or the alarm goes next. The inbox keeps
// its order; sometimes only its first part is read at once.
func (b *bursts) wake() {
	b.planned, b.awake = false, true
	w, p := b.p.h.w, b.p
	if w.now-b.since > int64(moment) {
		p.heldUpAt = w.now
	}
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
		switch ready[rng.IntN(len(ready))] {
		case 0:
			taken := len(b.inbox)
			if rng.IntN(4) == 0 {
				taken = 1 + rng.IntN(taken)
			}
			b.drain(taken)
		case 1:
			t := b.beside[0]
			b.beside = b.beside[1:]
			t.i.step(t.in...)
		default:
			b.due = false
			w.judge.ticked(p.inc)
			p.inc.step()
		}
	}
	b.awake = false
}

// drain tells the member the first n inputs of the inbox at once.
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
	if b.due && n > 0 {
		w.cov.saw(TimerBehindBurst)
	}
	var in []member.Input
	inc := b.p.inc
	for _, t := range b.inbox[:n] {
		if t.i == inc {
			in = append(in, t.in...)
		}
	}
	b.inbox = b.inbox[n:]
	inc.step(in...)
}

// heldUp says whether the process was held up for d or longer, by its clock, before its present step.
func (p *proc) heldUp(d time.Duration) bool {
	now := p.h.w.now
	if p.bursts == nil {
		return p.resumedAt == now
	}
	since := p.bursts.since
	return p.bursts.held && d <= p.h.clock.local(now).Sub(p.h.clock.local(since))+time.Microsecond
}
