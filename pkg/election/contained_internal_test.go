package election

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// frozen is a clock that goes on while its process does not.
type frozen struct {
	start time.Time
	ahead time.Duration
}

func (f *frozen) Now() record.Instant { return record.Instant(time.Since(f.start) + f.ahead) }
func (f *frozen) Wall() time.Time     { return time.Now() }

// contained is a runner that returns some time after it was told to stop, or by itself. If it reports
// when its processes ended, it reports a time that long before the deadline.
type contained struct {
	says    bool
	returns time.Duration
	before  time.Duration
	isNot   bool
	// stopped: the test tells it to stop at once, and to be dead long before the end of its term.
	stopped bool
	// first: the runner returns once the channel itself is closed, without being told to stop.
	first  bool
	itself chan struct{}
}

func (c contained) Contained() bool { return !c.isNot }

func (c contained) Run(ctx context.Context, term Term) error {
	select {
	case <-ctx.Done():
	case <-c.itself:
	}
	time.Sleep(c.returns)
	if deadline, _ := term.Deadline(); c.says {
		term.Ended(deadline.Add(-c.before))
	}
	return nil
}

// TestFrozenBeyondTheDeadline checks that a process that was frozen past a term's deadline goes on only
// if all of the work is known to have ended by the deadline, even if its runner returns before its
// guard's time comes.
func TestFrozenBeyondTheDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		runner contained
		aborts bool
	}{
		"its processes ended in time":        {contained{says: true, returns: time.Second, before: time.Millisecond}, false},
		"they ended at the very deadline":    {contained{says: true, returns: time.Second}, false},
		"they ended too late":                {contained{says: true, returns: time.Second, before: -1}, true},
		"too late, but it returns at once":   {contained{says: true, before: -1}, true},
		"too late, and it returns first":     {contained{says: true, before: -1, first: true}, true},
		"in time, and it returns first":      {contained{says: true, before: 1, first: true}, false},
		"after its grace, but in its term":   {contained{says: true, returns: time.Second, before: time.Millisecond, stopped: true}, false},
		"it has none: its writes are fenced": {contained{returns: time.Second}, false},
		"it does not return":                 {contained{says: true, returns: time.Minute, before: time.Millisecond}, true},
		"it says that it is not contained":   {contained{says: true, returns: time.Second, before: time.Millisecond, isNot: true}, true},
		"not contained, and returns first":   {contained{isNot: true, first: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.runner.first {
					c.runner.itself = make(chan struct{})
				}
				boot := &frozen{start: time.Now()}
				deadline := boot.Now().Add(10 * time.Second)
				var mu sync.Mutex
				aborted := false
				abort := func(error) {
					mu.Lock()
					defer mu.Unlock()
					aborted = true
				}
				var wg sync.WaitGroup
				w := begin(t.Context(), boot, c.runner, Term{Election: "a", Token: 1}, deadline, time.Second, aborter{abort, zap.NewNop()}, &wg, func(error, bool) {})
				synctest.Wait()
				if c.runner.stopped {
					w.end(Stop{Reason: "leaving", By: boot.Now()})
					wg.Wait()
				}
				boot.ahead = time.Minute
				if c.runner.first {
					close(c.runner.itself)
					wg.Wait()
				}
				w.keep() // the timer fires when the process goes on
				wg.Wait()
				mu.Lock()
				defer mu.Unlock()
				if aborted != c.aborts {
					t.Errorf("aborted %v, want %v", aborted, c.aborts)
				}
			})
		})
	}
}

// TestGuardThatComesTwice checks that the runner still has its time to return if the guard runs twice:
// when the process goes on, the stop and the guard come at once, and the guard was already firing when
// the stop reset it.
func TestGuardThatComesTwice(t *testing.T) {
	for returns, aborts := range map[time.Duration]bool{lateReturn / 2: false, 2 * lateReturn: true} {
		synctest.Test(t, func(t *testing.T) {
			boot := &frozen{start: time.Now()}
			deadline := boot.Now().Add(10 * time.Second)
			var mu sync.Mutex
			aborted := false
			abort := func(error) {
				mu.Lock()
				defer mu.Unlock()
				aborted = true
			}
			var wg sync.WaitGroup
			w := begin(t.Context(), boot, contained{says: true, returns: returns}, Term{Election: "a", Token: 1}, deadline, time.Second, aborter{abort, zap.NewNop()}, &wg, func(error, bool) {})
			synctest.Wait()
			boot.ahead = time.Minute
			w.end(Stop{Reason: "not renewed in time", By: deadline})
			w.keep()
			w.keep()
			wg.Wait()
			mu.Lock()
			defer mu.Unlock()
			if aborted != aborts {
				t.Errorf("returns after %v: aborted %v, want %v", returns, aborted, aborts)
			}
		})
	}
}
