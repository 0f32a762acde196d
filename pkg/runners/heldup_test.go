package runners_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// jumping is a clock that can jump ahead, as after a freeze of the process.
type jumping struct {
	clock.Clock
	ahead time.Duration
}

func (j *jumping) Now() record.Instant { return j.Clock.Now().Add(j.ahead) }

// TestFrozenProcessGivesAMoment checks that a process that was frozen beyond a term waits a moment
// before it reports that work goes on: it learns only then which work died meanwhile.
func TestFrozenProcessGivesAMoment(t *testing.T) {
	for returns, errors := range map[time.Duration]int{time.Millisecond: 0, 200 * time.Millisecond: 0, time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			core, logs := observer.New(zap.ErrorLevel)
			boot := &jumping{Clock: clock.Boottime()}
			ctx, cancel := context.WithCancelCause(t.Context())
			work := election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
				<-ctx.Done()
				time.Sleep(returns)
				return nil
			})
			by := boot.Now().Add(5 * time.Second)
			term, _ := election.NewTerm(election.Term{Election: "e", Token: 7}, by)
			done := make(chan error)
			go func() {
				done <- runners.Supervise([]runners.Child{{Name: "work", Runner: work}}, runners.Supervision{Clock: boot, Log: zap.New(core)}).Run(ctx, term)
			}()
			synctest.Wait()
			boot.ahead = time.Minute
			cancel(&election.Stop{Reason: "expired", By: by})
			if err := <-done; err != nil {
				t.Error(err)
			}
			if logs.Len() != errors {
				t.Errorf("work that returns after %v: logged %v", returns, logs.All())
			}
		})
	}
}
