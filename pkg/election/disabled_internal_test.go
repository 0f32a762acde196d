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

type sinceClock struct{ start time.Time }

func (c sinceClock) Now() record.Instant { return record.Instant(time.Since(c.start)) + 1 }
func (c sinceClock) Wall() time.Time     { return time.Now() }

// TestLateExtensionOfDisabledWork checks that a process that was frozen past its deadline does not end if
// nobody waits for the end of its work; the work can still be told to stop.
func TestLateExtensionOfDisabledWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sinceClock{time.Now()}
		var wg sync.WaitGroup
		runner := RunnerFunc(func(ctx context.Context, _ Term) error { <-ctx.Done(); return nil })
		aborted := false
		w := begin(t.Context(), c, runner, Term{Election: "a"}, c.Now().Add(10*time.Second), time.Second, aborter{func(error) { aborted = true }, zap.NewNop()}, &wg, func(error, bool) {})
		time.Sleep(time.Minute)
		w.mu.Lock()
		if aborted || w.stop != nil || w.returned {
			t.Errorf("aborted %v, stopped %v", aborted, w.stop)
		}
		w.mu.Unlock()
		w.extend(c.Now().Add(10 * time.Second))
		w.end(Stop{Reason: "test", By: c.Now().Add(time.Second)})
		wg.Wait()
	})
}
