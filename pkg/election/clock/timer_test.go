package clock_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		at := func(want time.Duration) {
			t.Helper()
			if got := time.Since(start); got != want {
				t.Errorf("at %v, want %v", got, want)
			}
		}
		x := clock.NewTimer(time.Second)
		<-x.C
		at(time.Second)
		if x.Stop() || x.Reset(time.Hour) {
			t.Error("it says that it was set, after it rang")
		}
		if !x.Reset(time.Second) {
			t.Error("it says that it was not set")
		}
		time.Sleep(5 * time.Second)
		at(6 * time.Second)
		if !x.Reset(time.Second) {
			t.Error("nobody took what was in C, and it says that it was not set")
		}
		<-x.C
		at(7 * time.Second)
		for _, d := range []time.Duration{0, -time.Hour} {
			x.Reset(d)
			<-x.C
		}
		at(7 * time.Second)
		if x.Reset(0); !x.Stop() {
			t.Error("nobody took what was in C, and it says that it was not set")
		}
		time.Sleep(time.Hour)
		select {
		case <-x.C:
			t.Error("it rings after it was stopped")
		default:
		}
	})
}

func TestAfterFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := make(chan time.Time, 10)
		call := func() { calls <- time.Now() }
		start := time.Now()
		x := clock.AfterFunc(0, call)
		if got := <-calls; !got.Equal(start) {
			t.Errorf("called at %v, want at once", got.Sub(start))
		}
		x.Reset(time.Minute)
		x.Reset(time.Second)
		if got := (<-calls).Sub(start); got != time.Second {
			t.Errorf("called at %v, want after a second", got)
		}
		x.Reset(time.Second)
		if !x.Stop() || x.Stop() {
			t.Error("the first Stop did not take the call back, or the second did")
		}
		time.Sleep(time.Hour)
		if len(calls) > 0 {
			t.Error("called after Stop")
		}
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if !clock.Wait(ctx, time.Second) || time.Since(start) != time.Second {
			t.Errorf("it waited for %v, want a second", time.Since(start))
		}
		if !clock.Wait(ctx, 0) || clock.Wait(ctx, time.Hour) || clock.Wait(ctx, 0) {
			t.Error("it says that it waited to the end though ctx ended, or not though ctx went on")
		}
		if time.Since(start) != time.Minute {
			t.Errorf("it waited until %v, want until ctx ended", time.Since(start))
		}
	})
}

// TestTimersOfManyThreads sets and reads timers that are due at once, on many threads of a bubble. With
// timers of package time the race detector crashes.
func TestTimersOfManyThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for _, tt := range []struct {
		name   string
		rounds int
		use    func()
	}{
		{"func", 10000, func() { clock.AfterFunc(0, func() {}) }},
		{"channel", 10000, func() { <-clock.NewTimer(0).C }},
		{"passed", 100, func() {
			passed := make([]*clock.Timer, 50)
			for i := range passed {
				passed[i] = clock.NewTimer(1)
			}
			time.Sleep(2 * time.Nanosecond)
			for _, p := range passed {
				<-p.C
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(*testing.T) {
				var crowd sync.WaitGroup
				for range 8 {
					crowd.Go(func() {
						for range tt.rounds {
							tt.use()
						}
					})
				}
				crowd.Wait()
			})
		})
	}
}
