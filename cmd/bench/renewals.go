package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// renewals records when we last saw each election's present holder renew, by this
// process's own clock: the holder sent the renewal before that.
type renewals struct {
	bench *bench
	stop  func() error

	mu     sync.Mutex
	holder map[string]string
	last   map[string]record.Instant
	// bySession are the elections that their holder's session renews.
	bySession map[string]bool
	// missing are elections that we have not seen renewed yet; all is closed when none is missing.
	missing map[string]bool
	all     chan struct{}
}

// watchRenewals returns once it has seen each of the elections renewed.
func (b *bench) watchRenewals(ctx context.Context, namespace string, elections []string) (*renewals, error) {
	r := &renewals{bench: b, holder: map[string]string{}, last: map[string]record.Instant{}, bySession: map[string]bool{}, missing: map[string]bool{}, all: make(chan struct{})}
	for _, e := range elections {
		r.missing[e] = true
	}
	store, err := b.cluster.store(namespace)
	if err != nil {
		return nil, err
	}
	watching, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { // joined by stop
		ended <- store.Watch(watching, func(e lock.Event) {
			switch e.Kind {
			case lock.Listed:
				r.begin(e.List)
			case lock.Changed:
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

// begin records who holds which lock, and which locks a session renews: such locks are written only once a term.
func (r *renewals) begin(all []lock.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range all {
		if !e.Absent() && !e.Record.IsSession() && e.Record.Holder != "" && e.Record.ThroughSession() {
			r.holder[e.Name], r.bySession[e.Name] = e.Record.Holder, true
		}
	}
}

func (r *renewals) note(e lock.Entry) {
	if e.Absent() || e.Record.Holder == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !e.Record.IsSession() {
		r.renewed(e.Name, e.Record.Holder)
		return
	}
	for election := range r.bySession {
		if r.holder[election] == e.Record.Holder {
			r.renewed(election, e.Record.Holder)
		}
	}
}

// renewed records that we saw the holder of an election renew it. mu is held.
func (r *renewals) renewed(election, holder string) {
	if r.holder[election] == "" {
		r.holder[election] = holder
	}
	if r.holder[election] == holder {
		r.last[election] = r.bench.clock.Now()
	}
	if r.missing[election] {
		delete(r.missing, election)
		if len(r.missing) == 0 {
			close(r.all)
		}
	}
}
