package dev

import (
	"context"
	"sync"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// watch starts the goroutines that send events to the loop; stop joins them.
func (r *run) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for kind, store := range map[status.Kind]lock.Store{
		status.Lease:     lease.In(r.cluster.leases, r.cluster.namespace),
		status.ConfigMap: configmap.In(r.cluster.configMaps, r.cluster.namespace, configmap.OfGroup(r.doc.Group)),
	} {
		wg.Go(func() {
			if err := store.Watch(ctx, func(e lock.Event) { send(ctx, r.events, sighted{kind, e}) }); err != nil {
				send(ctx, r.watching, err)
			}
		})
	}
	wg.Go(func() {
		// Watch ends with ctx. If the source gives up before, the members report it.
		_ = r.source.Watch(ctx, func(p election.Preference) { send(ctx, r.preferences, p.For("")) }) // a default is the same for each election
	})
	wg.Go(func() {
		// Members follow the file, too, and report its mistakes.
		_ = config.Watch(ctx, r.doc.path, config.Follower{Take: func(c *config.Configuration) error {
			if err := r.Check(c); err != nil {
				return err
			}
			send(ctx, r.documents, c)
			return nil
		}, Refuse: func(error) {}})
	})
	return func() {
		cancel()
		wg.Wait()
		r.cluster.leases.CloseIdleConnections()
		r.cluster.configMaps.CloseIdleConnections()
	}
}

// sighted is an event of the watch of a kind of locks.
type sighted struct {
	kind status.Kind
	lock.Event
}

// send sends unless ctx ends first.
func send[T any](ctx context.Context, to chan<- T, v T) {
	select {
	case to <- v:
	case <-ctx.Done():
	}
}
