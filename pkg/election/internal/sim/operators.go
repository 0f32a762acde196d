package sim

import (
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// operators pin elections to hosts, drain hosts, and pause elections, with takeovers or without; nil in most runs. They take all of it back
// before the calm begins.
type operators struct {
	w     *world
	rng   *rand.Rand
	every time.Duration
}

// pickOperators picks the operators of this run, or nil. In the class Rollouts the plan alone says what is preferred.
func (w *world) pickOperators(rng *rand.Rand) *operators {
	if rng.IntN(5) > 0 || w.options.Class == Rollouts {
		return nil
	}
	return &operators{w: w, rng: rng, every: time.Duration(float64(w.timing.LeaseDuration) * []float64{0.3, 1, 3}[rng.IntN(3)])}
}

// begin schedules the next word.
func (o *operators) begin() {
	if o != nil {
		o.w.after(1+upTo(o.rng, 2*o.every), o.speak)
	}
}

// speak changes one word on one election, or takes it back.
func (o *operators) speak() {
	w := o.w
	if w.calm {
		return
	}
	o.begin()
	e := o.rng.IntN(len(w.elections))
	p := w.preferred[e]
	host := w.hosts[o.rng.IntN(len(w.hosts))].name
	switch o.rng.IntN(4) {
	case 0:
		if p.Member = ""; o.rng.IntN(3) > 0 {
			p.Member = host
		}
	case 1:
		if p.Drained = ""; o.rng.IntN(3) > 0 {
			p.Drained = record.HostsOf(host)
		}
	case 2:
		p.Paused = !p.Paused
		p.NoTakeover = p.NoTakeover && p.Paused
	case 3:
		p.NoTakeover = !p.NoTakeover
		p.Paused = p.Paused || p.NoTakeover
	}
	o.says(e, p)
}

func (o *operators) says(e int, p record.Preferred) {
	w := o.w
	if p == w.preferred[e] {
		return
	}
	w.preferred[e] = p
	w.logf("world", "%s: preferred is %v, by an operator", w.elections[e], p)
	w.cov.saw(OperatorSpoke)
	for _, h := range w.hosts {
		w.after(upTo(o.rng, time.Second), h.syncPreferences)
	}
}

// becalm takes all words back.
func (o *operators) becalm() {
	if o == nil {
		return
	}
	for e, p := range o.w.preferred {
		o.says(e, record.Preferred{State: p.State, Revision: p.Revision})
	}
}

// withheld judges a take that a member asks for: as long as it knows that nobody may take a lock, it takes only what it holds (rule
// no-takeover). The old lock of a migration is not judged.
func (j *judge) withheld(m *contest, p machine.Purpose) {
	if p != machine.Take || m.i.contests[m.election] != m {
		return
	}
	s := m.state()
	if m.i.seen.For(m.of()).NoTakeover && s != nil && s.Lock.Owner != machine.Mine {
		j.w.violate("rule no-takeover", "%s: %s takes it although the election is paused without takeovers", m.name, m.i.identity)
	}
}
