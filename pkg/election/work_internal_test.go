package election

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestWhoGivesUpLateIsDeadByTheDeadline wakes a frozen process just before its term's deadline, and its
// runner gives up before the guard has run. It checks that the work must be dead by the deadline, not a
// whole grace later.
func TestWhoGivesUpLateIsDeadByTheDeadline(t *testing.T) {
	c := &handClock{}
	c.now.Store(1)
	deadline := record.Instant(10 * time.Second)
	var stop Stop
	late := RunnerFunc(func(ctx context.Context, term Term) error {
		c.now.Store(int64(9 * time.Second))
		term.GiveUp("why")
		stop, _ = StopOf(ctx)
		return nil
	})
	var wg sync.WaitGroup
	begin(t.Context(), c, late, Term{Election: "a", Token: 1}, deadline, 3*time.Second, aborter{func(error) {}, zap.NewNop()}, &wg, func(error, bool) {})
	wg.Wait()
	if stop.Reason != "why" || stop.By != deadline {
		t.Errorf("told %+v, want to be dead by %d", stop, deadline)
	}
}
