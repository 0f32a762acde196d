package revisions

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pace of retries.
const (
	firstWait = 250 * time.Millisecond
	mostWait  = 10 * time.Second
	settled   = 5 * time.Second
)

// Retry calls follow again and again until ctx ends. The waits between grow from a
// quarter of a second to ten, and begin anew after one that lasted.
func Retry(ctx context.Context, follow func(context.Context)) {
	wait := firstWait
	for {
		began := time.Now()
		follow(ctx)
		if time.Since(began) >= settled {
			wait = firstWait
		}
		if !pause(ctx, wait/2+rand.N(wait/2)) {
			return
		}
		wait = min(2*wait, mostWait)
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
