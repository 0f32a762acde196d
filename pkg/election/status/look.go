package status

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// Look reports what the realm shows now. The error is why it could not be listed; nothing
// is tried twice.
func Look(ctx context.Context, store lock.Store, s Selection) (Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var report Report
	var failed error
	seen := false
	err := store.Watch(ctx, func(e lock.Event) {
		switch {
		case seen || failed != nil:
		case e.Kind == lock.Listed:
			report, seen = Of(s, e.List, time.Now()), true
			cancel()
		case e.Kind == lock.Broken:
			failed = e.Err
			cancel()
		}
	})
	switch {
	case failed != nil:
		return Report{}, failed
	case seen:
		return report, nil
	case err != nil:
		return Report{}, err
	}
	return Report{}, context.Cause(ctx)
}

// Follow delivers a report at first, after every change in the realm, and every second,
// since ages move and what looks expired changes by itself; until ctx ends, then it
// returns nil. When the stream is cut it delivers why, and goes on by itself. It calls
// deliver from its own goroutine's stack only; it starts one goroutine, which has ended
// when it returns.
func Follow(ctx context.Context, store lock.Store, s Selection, deliver func(Report, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan lock.Event, 256)
	ended := make(chan error, 1)
	go func() { // joined by the receive from ended below
		ended <- store.Watch(ctx, func(e lock.Event) {
			select {
			case events <- e:
			case <-ctx.Done():
			}
		})
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	f := follower{known: map[string]lock.Entry{}}
	for {
		select {
		case e := <-events:
			if !f.take(e, events) {
				continue
			}
		case <-tick.C:
		case err := <-ended:
			cancel()
			return err
		}
		if f.trouble != nil {
			deliver(Report{}, f.trouble)
			f.trouble = nil
		}
		if f.listed {
			deliver(Of(s, slices.Collect(maps.Values(f.known)), time.Now()), nil)
		}
	}
}

// follower is what the stream has shown. It belongs to the goroutine of Follow.
type follower struct {
	known   map[string]lock.Entry
	listed  bool
	trouble error
}

// take takes in an event and all that wait behind it, and says whether there is news.
func (f *follower) take(e lock.Event, more <-chan lock.Event) (news bool) {
	for {
		news = f.takeOne(e) || news
		select {
		case e = <-more:
		default:
			return news
		}
	}
}

func (f *follower) takeOne(e lock.Event) (news bool) {
	switch e.Kind {
	case lock.Listed:
		clear(f.known)
		f.listed = true
		for _, entry := range e.List {
			f.known[entry.Name] = entry
		}
	case lock.Changed:
		f.known[e.Entry.Name] = e.Entry
		if e.Entry.Absent() {
			delete(f.known, e.Entry.Name)
		}
	case lock.Broken:
		f.trouble = e.Err
	default:
		return false
	}
	return true
}
