package child

import (
	"sync"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Budgets are what the runs of one runner may log together: a run that begins goes on with
// what the ones before it have left. Each stream has its own.
type Budgets struct {
	rate  Rate
	clock clock.Clock

	mu      sync.Mutex
	streams map[string]*Budget
}

// NewBudgets makes budgets that are full, and are filled up by the clock.
func NewBudgets(rate Rate, c clock.Clock) *Budgets {
	return &Budgets{rate: rate, clock: c, streams: map[string]*Budget{}}
}

// Of is the budget of a stream.
func (b *Budgets) Of(stream string) *Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.streams[stream] == nil {
		b.streams[stream] = NewBudget(b.rate, b.clock)
	}
	return b.streams[stream]
}

// Budget is what may be logged of one stream. While a run uses it the rest is that run's.
type Budget struct {
	rate  Rate
	clock clock.Clock

	mu   sync.Mutex
	left Rate
	// filled is when it was last filled up for the time that had passed.
	filled record.Instant
}

// NewBudget makes one that is full.
func NewBudget(rate Rate, c clock.Clock) *Budget {
	rate = rate.orDefault()
	return &Budget{rate: rate, clock: c, left: rate.most(), filled: c.Now()}
}

// take takes what there is, with what the time since has added.
func (b *Budget) take() (left Rate, filled record.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	windows := min(max(0, b.clock.Now().Sub(b.filled)/refillEvery), 1<<20)
	b.filled = b.filled.Add(windows * refillEvery)
	for range min(windows, 2*burst) { // a budget may be below zero by a line
		b.left = b.rate.refilled(b.left)
	}
	left, b.left = b.left, Rate{}
	return left, b.filled
}

// put gives back what a run has left.
func (b *Budget) put(left Rate, filled record.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left, b.filled = left, filled
}

// most is what may come at once.
func (r Rate) most() Rate { return Rate{burst * r.Lines, burst * r.Bytes} }

// refilled is what may be said a window later.
func (r Rate) refilled(left Rate) Rate {
	most := r.most()
	return Rate{min(left.Lines+r.Lines, most.Lines), min(left.Bytes+r.Bytes, most.Bytes)}
}
