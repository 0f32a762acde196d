package election

import (
	"context"
	"sync"
)

// receivers are the channels that a Watch has returned. A receiver that lags loses the oldest values, never the newest.
// Any goroutine may call the methods; none of them waits for a receiver.
type receivers[T any] struct {
	mu     sync.Mutex
	all    map[chan T]func() bool // each with what detaches it from its context; nil until the first
	closed bool
}

// add returns a channel with the given buffer. It is closed when ctx ends, and by close.
func (r *receivers[T]) add(ctx context.Context, buffer int) <-chan T {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := make(chan T, buffer)
	if r.closed {
		close(w)
		return w
	}
	if r.all == nil {
		r.all = map[chan T]func() bool{}
	}
	r.all[w] = context.AfterFunc(ctx, func() { r.drop(w) })
	return w
}

func (r *receivers[T]) drop(w chan T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.all[w]; there {
		delete(r.all, w)
		close(w)
	}
}

func (r *receivers[T]) send(v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.all {
		select {
		case w <- v:
			continue
		default:
		}
		select {
		case <-w: // nobody else sends, so this makes room
		default:
		}
		w <- v
	}
}

// close closes all channels. Later ones are closed from the beginning.
func (r *receivers[T]) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for w, detach := range r.all {
		detach()
		close(w)
	}
	clear(r.all)
}
