// Package follow turns a store's list and watch calls into the stream of events that
// lock.Store.Watch promises. It lists, watches, resumes after a break, lists again if the store no longer
// knows the revision, and backs off while the store does not answer.
//
// Run starts no goroutine. A stream of several names has one for each; its Close joins them. Its Open starts a few
// more, which open the streams of the names, and joins them.
package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// ErrExpired: the store no longer knows what happened after the revision asked for.
var ErrExpired = errors.New("revision expired")

// Source is a store as Run needs it.
type Source interface {
	// List returns all objects by a consistent read. If it reads them in pieces, it calls
	// goesOn after each piece that others follow.
	List(ctx context.Context, goesOn func()) (List, error)
	// Open starts a stream of the changes after the revision. The error, like that of
	// Stream.Next, wraps ErrExpired if only a new list helps.
	Open(ctx context.Context, after uint64) (Stream, error)
}

// List is what a list shows: the objects, and the revision of the store. Denied are the names that the store denies, in order, of which the
// list and the streams after it say nothing, and Why is how it denies them.
type List struct {
	Entries  []lock.Entry
	Revision uint64
	Denied   []string
	Why      error
}

// Stream shows changes in the order of the store.
type Stream interface {
	// Next waits for the next event, Changed or Progressed. Any error ends the stream.
	Next(ctx context.Context) (lock.Event, error)
	// Close ends the stream, and returns once all its goroutines have ended.
	Close()
}

// Pace says how long Run waits after a break. The first retry is at once; later ones wait for First,
// doubling up to Most, until a stream has lived for Settled.
type Pace struct {
	First, Most, Settled time.Duration
	// Patience is how long a piece of a list, or the opening of a stream, may take.
	Patience time.Duration
	// Jitter returns a random number from 0 up to 1 for each wait, which shortens it by up to
	// half. Nil for no jitter.
	Jitter func() float64
	// RetryAfter is how long the source asked us to wait; else 0. Run waits for at most ten times First,
	// doubling each time, up to Most: while it waits, it is blind. Nil if sources never ask.
	RetryAfter func(error) time.Duration
}

// DefaultPace waits from 100 ms up to 5 s between retries, and 30 s for an answer.
func DefaultPace() Pace {
	return Pace{First: 100 * time.Millisecond, Most: 5 * time.Second, Settled: time.Second, Patience: 30 * time.Second}
}

func (p Pace) wait(breaks int, err error) time.Duration {
	var d time.Duration
	if breaks > 1 {
		d = p.doubled(p.First, breaks-2)
		if p.Jitter != nil {
			d -= time.Duration(float64(d) / 2 * p.Jitter())
		}
	}
	if p.RetryAfter != nil {
		d = max(d, min(p.RetryAfter(err), p.doubled(10*p.First, breaks-1)))
	}
	return d
}

// doubled is d, doubled n times, up to Most.
func (p Pace) doubled(d time.Duration, n int) time.Duration {
	for range n {
		if d >= p.Most {
			break
		}
		d *= 2
	}
	return min(d, p.Most)
}

// Run follows the source until ctx ends. It calls deliver in the caller's goroutine.
func Run(ctx context.Context, s Source, p Pace, deliver func(lock.Event)) {
	f := follower{source: s, deliver: deliver, patience: p.Patience}
	breaks := 0
	for {
		lived, err := f.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		deliver(lock.Event{Kind: lock.Broken, Err: err})
		if lived >= p.Settled {
			breaks = 0
		}
		breaks++
		if !clock.Wait(ctx, p.wait(breaks, err)) {
			return
		}
	}
}

type follower struct {
	source   Source
	deliver  func(lock.Event)
	patience time.Duration
	// at is the revision up to which we know all changes; it counts only once listed.
	at     uint64
	listed bool
	// barren counts streams in a row that opened and showed nothing at all.
	barren int
}

// mostBarren is after how many barren streams in a row we list again: the source seems unable to show some
// change after the revision.
const mostBarren = 3

// attempt lists if necessary, and follows one stream to its end. It returns how long the
// stream lived.
func (f *follower) attempt(ctx context.Context) (time.Duration, error) {
	err := f.list(ctx)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	impatient := f.hurry(cancel)
	stream, err := f.source.Open(ctx, f.at)
	if !impatient.Stop() {
		if err == nil {
			stream.Close()
		}
		err = context.Cause(ctx)
	}
	if err != nil {
		f.forget(err)
		return 0, err
	}
	defer stream.Close()
	opened := time.Now()
	f.deliver(lock.Event{Kind: lock.Resumed, Revision: f.at})
	f.barren++
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			f.forget(err)
			return time.Since(opened), err
		}
		f.barren = 0
		switch e.Kind {
		case lock.Changed:
			f.at = e.Entry.Version.Revision
		case lock.Progressed:
			f.at = e.Revision
		}
		f.deliver(e)
	}
}

func (f *follower) list(ctx context.Context) error {
	if f.listed {
		return nil
	}
	f.deliver(lock.Event{Kind: lock.Listing})
	listing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	impatient := f.hurry(cancel)
	list, err := f.source.List(listing, func() {
		if impatient.Reset(f.patience) { // else it is too late
			f.deliver(lock.Event{Kind: lock.Progressed})
		}
	})
	impatient.Stop()
	if err != nil && ctx.Err() == nil && listing.Err() != nil {
		return context.Cause(listing) // the list says only that it was cancelled
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.at, f.listed = list.Revision, true
	f.deliver(lock.Event{Kind: lock.Listed, List: list.Entries, Revision: list.Revision, Denied: list.Denied, Err: list.Why})
	return nil
}

// hurry cancels a call that takes longer than patience.
func (f *follower) hurry(cancel context.CancelCauseFunc) *clock.Timer {
	return clock.AfterFunc(f.patience, func() { cancel(fmt.Errorf("%w: no answer within %v", lock.ErrUnknown, f.patience)) })
}

func (f *follower) forget(err error) {
	if errors.Is(err, ErrExpired) || f.barren >= mostBarren {
		f.listed, f.barren = false, 0
	}
}
