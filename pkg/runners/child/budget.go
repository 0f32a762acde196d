//go:build linux

package child

import (
	"sync"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Budgets limit what all runs of one runner may log together: a new run starts with what the earlier
// runs left over. Each stream has its own Budget.
type Budgets struct {
	rate  Rate
	clock clock.Clock

	mu      sync.Mutex
	streams map[string]*Budget
}

// NewBudgets makes full budgets, which the clock refills.
func NewBudgets(rate Rate, c clock.Clock) *Budgets {
	return &Budgets{rate: rate, clock: c, streams: map[string]*Budget{}}
}

// Of returns the budget of a stream.
func (b *Budgets) Of(stream string) *Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.streams[stream] == nil {
		b.streams[stream] = NewBudget(b.rate, b.clock)
	}
	return b.streams[stream]
}

// Budget limits what one stream may log. A run takes all of it, and at its end puts back the rest.
type Budget struct {
	rate  Rate
	clock clock.Clock

	mu   sync.Mutex
	left Rate
	// filled is the instant up to which elapsed time has refilled it.
	filled record.Instant
}

// NewBudget makes a full budget.
func NewBudget(rate Rate, c clock.Clock) *Budget {
	rate = rate.orDefault()
	return &Budget{rate: rate, clock: c, left: rate.most(), filled: c.Now()}
}

// take refills the budget for the elapsed time, and takes all of it.
func (b *Budget) take() (left Rate, filled record.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	windows := min(max(0, b.clock.Now().Sub(b.filled)/refillEvery), 1<<20)
	b.filled = b.filled.Add(windows * refillEvery)
	for range min(windows, 2*burst) { // a budget may be below zero by one line
		b.left = b.rate.refilled(b.left)
	}
	left, b.left = b.left, Rate{}
	return left, b.filled
}

// put gives back what a run left over.
func (b *Budget) put(left Rate, filled record.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left, b.filled = left, filled
}

// most is what may be logged at once.
func (r Rate) most() Rate { return Rate{burst * r.Lines, burst * r.Bytes} }

// refilled returns the budget one window later.
func (r Rate) refilled(left Rate) Rate {
	most := r.most()
	return Rate{min(left.Lines+r.Lines, most.Lines), min(left.Bytes+r.Bytes, most.Bytes)}
}
