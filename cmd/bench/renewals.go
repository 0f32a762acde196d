package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// watchRenewals notes the last renewal of each election by whoever holds it first. The
// function that it returns ends the watch and tells what was seen.
func (b *bench) watchRenewals(ctx context.Context) func() map[string]time.Time {
	ctx, cancel := context.WithCancel(ctx)
	last := map[string]time.Time{}
	holder := map[string]string{}
	note := func(e lock.Entry) {
		r := e.Record
		if r == nil || r.IsSession() || r.Holder == "" {
			return
		}
		if holder[e.Name] == "" {
			holder[e.Name] = r.Holder
		}
		if holder[e.Name] == r.Holder {
			last[e.Name] = r.Renewed
		}
	}
	listed := make(chan struct{}, 64)
	ended := make(chan error, 1)
	store, err := b.cluster.store()
	if err != nil {
		cancel()
		fmt.Fprintln(os.Stderr, "bench:", err)
		return func() map[string]time.Time { return nil }
	}
	go func() {
		ended <- store.Watch(ctx, func(e lock.Event) {
			for _, l := range e.List {
				note(l)
			}
			if e.Kind == lock.Changed {
				note(e.Entry)
			}
			if e.Kind == lock.Resumed {
				listed <- struct{}{}
			}
		})
	}()
	select {
	case <-listed:
	case <-ctx.Done():
	}
	return func() map[string]time.Time {
		cancel()
		if err := <-ended; err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		return maps.Clone(last)
	}
}
