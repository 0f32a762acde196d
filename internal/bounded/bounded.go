// Package bounded calls functions that may hang, as those do that wait for a disk, and does not wait for their return for ever.
//
// Goroutines: each function has one of its own. Call joins it, or says that it is left behind: then it ends when the function
// returns, if ever.
package bounded

import (
	"context"
	"errors"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// ErrLeft says that a function had not returned in time, so its goroutine is left behind.
var ErrLeft = errors.New("it did not return after its context ended")

// Call calls f and returns its error. It waits for f until ctx ends, and then for the grace at most; if f has not returned by
// then, it returns ErrLeft. What f returns later is lost.
func Call(ctx context.Context, grace time.Duration, f func() error) error {
	over := make(chan error, 1)
	go func() { over <- f() }() // joined below, for as long as the grace
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
	}
	late := clock.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-over:
		return err
	case <-late.C:
		return ErrLeft
	}
}
