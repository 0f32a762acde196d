package election

import "sync"

// latest is a value that one goroutine sets and another waits for.
type latest[T any] struct {
	mu      sync.Mutex
	value   T
	changed chan struct{}
}

func newLatest[T any](value T) *latest[T] {
	return &latest[T]{value: value, changed: make(chan struct{})}
}

func (l *latest[T]) set(value T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value = value
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *latest[T]) get() (T, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.changed
}
