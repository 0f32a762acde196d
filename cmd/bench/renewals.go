package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// renewals notes when each election's present holder was last seen to renew, by this
// process's own clock: the renewal was sent before that.
type renewals struct {
	bench *bench
	stop  func() error

	mu     sync.Mutex
	holder map[string]string
	last   map[string]record.Instant
	// missing are elections that were not seen renewed yet; all is closed with the last.
	missing map[string]bool
	all     chan struct{}
}

// watchRenewals returns once each of the elections was seen renewed.
func (b *bench) watchRenewals(ctx context.Context, elections []string) (*renewals, error) {
	r := &renewals{bench: b, holder: map[string]string{}, last: map[string]record.Instant{}, missing: map[string]bool{}, all: make(chan struct{})}
	for _, e := range elections {
		r.missing[e] = true
	}
	store, err := b.cluster.store()
	if err != nil {
		return nil, err
	}
	watching, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { // joined by stop
		ended <- store.Watch(watching, func(e lock.Event) {
			if e.Kind == lock.Changed {
				r.note(e.Entry)
			}
		})
	}()
	r.stop = func() error {
		cancel()
		return <-ended
	}
	select {
	case <-r.all:
		return r, nil
	case err := <-ended:
		cancel()
		return nil, fmt.Errorf("watch of renewals: %w", errors.Join(err, ctx.Err()))
	}
}

func (r *renewals) note(e lock.Entry) {
	if e.Absent() || e.Record.IsSession() || e.Record.Holder == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder[e.Name] == "" {
		r.holder[e.Name] = e.Record.Holder
	}
	if r.holder[e.Name] == e.Record.Holder {
		r.last[e.Name] = r.bench.clock.Now()
	}
	if r.missing[e.Name] {
		delete(r.missing, e.Name)
		if len(r.missing) == 0 {
			close(r.all)
		}
	}
}
