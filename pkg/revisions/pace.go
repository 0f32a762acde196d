package revisions

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Pace of retries: waits between calls.
const (
	firstWait = 250 * time.Millisecond
	mostWait  = 10 * time.Second
	settled   = 5 * time.Second
)

// Retry calls follow again and again until ctx ends. It waits a random time between calls: at first
// at most a quarter of a second, later at most ten seconds. After a call of five seconds or more the
// waits are short again.
func Retry(ctx context.Context, follow func(context.Context)) {
	wait := firstWait
	for {
		began := time.Now()
		follow(ctx)
		if time.Since(began) >= settled {
			wait = firstWait
		}
		if !clock.Wait(ctx, wait/2+rand.N(wait/2)) {
			return
		}
		wait = min(2*wait, mostWait)
	}
}
