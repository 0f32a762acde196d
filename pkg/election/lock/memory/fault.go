package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Op names an operation of a Store.
type Op string

const (
	Get  Op = "get"
	Put  Op = "put"
	List Op = "list"
	// Remove removes an object.
	Remove Op = "remove"
	// Watch opens a stream.
	Watch Op = "watch"
	// Deliver shows one event on an open stream; a hook that blocks stalls the stream.
	Deliver Op = "deliver"
)

// Call is one operation that a Hook intercepts.
type Call struct {
	Op   Op
	Name string // empty for List and Watch
	// Record is what a Put writes or a Deliver shows (nil for an absence). Read only.
	Record *record.Record
}

// Hook decides what happens to a call. It may call op to perform it now, later, more than
// once or not at all; the caller gets what the hook returns. The hook runs on the caller's
// goroutine, and may call op on any. An error should wrap one of lock's sentinels.
type Hook func(ctx context.Context, c Call, op func() error) error

// Reject answers with err and performs nothing.
func Reject(err error) Hook {
	return func(context.Context, Call, func() error) error { return err }
}

// Lose performs the call and loses the reply.
func Lose() Hook {
	return func(_ context.Context, _ Call, op func() error) error {
		_ = op()
		return fmt.Errorf("%w: the reply is lost", lock.ErrUnknown)
	}
}

// Hang performs nothing and answers when the caller gives up.
func Hang() Hook {
	return func(ctx context.Context, _ Call, _ func() error) error {
		<-ctx.Done()
		return fmt.Errorf("%w: %w", lock.ErrUnknown, ctx.Err())
	}
}

// Delay performs the call after d, unless the caller has given up by then.
func Delay(d time.Duration) Hook {
	return func(ctx context.Context, _ Call, op func() error) error {
		if err := wait(ctx, d); err != nil {
			return err
		}
		return op()
	}
}

// DelayReply performs the call at once and answers after d.
func DelayReply(d time.Duration) Hook {
	return func(ctx context.Context, _ Call, op func() error) error {
		err := op()
		if late := wait(ctx, d); late != nil {
			return late
		}
		return err
	}
}

// Once lets the hook act on the next call only; later ones are performed as usual.
func Once(h Hook) Hook {
	first := make(chan struct{}, 1)
	first <- struct{}{}
	return func(ctx context.Context, c Call, op func() error) error {
		select {
		case <-first:
			return h(ctx, c, op)
		default:
			return op()
		}
	}
}

// Named lets the hook act on calls for the name only.
func Named(name string, h Hook) Hook {
	return func(ctx context.Context, c Call, op func() error) error {
		if c.Name != name {
			return op()
		}
		return h(ctx, c, op)
	}
}

func wait(ctx context.Context, d time.Duration) error {
	if !clock.Wait(ctx, d) {
		return fmt.Errorf("%w: %w", lock.ErrUnknown, ctx.Err())
	}
	return nil
}
