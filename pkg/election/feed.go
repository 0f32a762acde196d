package election

import (
	"context"
	"sync"
)

// ElectionTransition is a Transition of one of a Manager's elections.
type ElectionTransition struct {
	Election string
	// Number counts the transitions of all elections, from 1 on. A gap shows a receiver that it lagged.
	Number uint64
	Transition
}

// feedBuffer is how many transitions a receiver of Manager.Watch may lag behind.
const feedBuffer = 1024

// feed numbers the transitions of all elections, counts them, and passes them on.
type feed struct {
	receivers receivers[ElectionTransition]
	tally     *tally

	mu     sync.Mutex
	number uint64
}

// Watch returns a channel of the transitions of all elections, those that are added later included, from now
// on. A receiver that lags loses the oldest, never the newest; Number shows that. The channel is closed when ctx
// ends, and when Run has returned.
func (m *Manager) Watch(ctx context.Context) <-chan ElectionTransition {
	return m.shared.feed.receivers.add(ctx, feedBuffer)
}

func (f *feed) publish(election string, t Transition) {
	f.mu.Lock()
	defer f.mu.Unlock() // held while it sends, so that the numbers rise
	f.number++
	f.tally.passed(t)
	f.receivers.send(ElectionTransition{Election: election, Number: f.number, Transition: t})
}
