package dev

import (
	"context"
	"sync"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
)

// watch starts the goroutines that tell the loop what happens; stop joins them.
func (r *run) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := lease.In(r.cluster.leases, r.cluster.namespace).Watch(ctx, func(e lock.Event) { send(ctx, r.events, e) })
		if err != nil {
			r.watching <- err
		}
	})
	wg.Go(func() {
		// It ends with ctx; a source that gives up is the members' to report.
		_ = r.source.Watch(ctx, func(p election.Preference) { send(ctx, r.preferences, p.For("")) }) // of a default, the same for each election
	})
	wg.Go(func() {
		// Members follow the file too, and say what is wrong with it.
		_ = config.Watch(ctx, r.doc.path, func(c *config.Configuration, err error) {
			if err == nil && r.Check(c) == nil {
				send(ctx, r.documents, c)
			}
		})
	})
	return func() {
		cancel()
		wg.Wait()
		r.cluster.leases.CloseIdleConnections()
	}
}

// send sends unless ctx ends first.
func send[T any](ctx context.Context, to chan<- T, v T) {
	select {
	case to <- v:
	case <-ctx.Done():
	}
}
