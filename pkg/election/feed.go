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

// feed has the transitions of all elections. It never waits for a receiver.
type feed struct {
	mu       sync.Mutex
	number   uint64
	watchers map[chan ElectionTransition]func() bool // each with what detaches it from its context
	closed   bool
}

// Watch returns a channel of the transitions of all elections, those that are added later included, from now
// on. A receiver that lags loses the oldest, never the newest; Number shows that. The channel is closed when ctx
// ends, and when Run has returned.
func (m *Manager) Watch(ctx context.Context) <-chan ElectionTransition {
	f := &m.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	w := make(chan ElectionTransition, feedBuffer)
	if f.closed {
		close(w)
		return w
	}
	if f.watchers == nil {
		f.watchers = map[chan ElectionTransition]func() bool{}
	}
	f.watchers[w] = context.AfterFunc(ctx, func() { f.unwatch(w) })
	return w
}

func (f *feed) unwatch(w chan ElectionTransition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, watching := f.watchers[w]; watching {
		delete(f.watchers, w)
		close(w)
	}
}

func (f *feed) publish(election string, t Transition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.number++
	one := ElectionTransition{Election: election, Number: f.number, Transition: t}
	for w := range f.watchers {
		select {
		case w <- one:
			continue
		default:
		}
		select {
		case <-w: // nobody else sends, so this makes room
		default:
		}
		w <- one
	}
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for w, stop := range f.watchers {
		stop()
		close(w)
	}
	clear(f.watchers)
}
