package runners_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// TestEndsWhileOthersStop checks that a runner that ends after the stop began has not failed and is
// not run again, even if it was not told to stop yet.
func TestEndsWhileOthersStop(t *testing.T) {
	for _, onExit := range []runners.OnExit{runners.ExitRestart, runners.ExitRelease, runners.ExitStop} {
		for _, bad := range []error{nil, errBad} {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				left := make(chan struct{})
				proxy := child("proxy", func(ctx context.Context, _ election.Term) error {
					runs++
					select {
					case <-ctx.Done():
						return nil
					case <-left:
						return bad
					}
				})
				proxy.OnExit = onExit
				writer := child("writer", func(ctx context.Context, _ election.Term) error {
					<-ctx.Done()
					close(left)
					time.Sleep(2 * time.Second)
					return nil
				})
				figures := runners.NewFigures("e")
				s := openCounted(t, figures, proxy, writer)
				time.Sleep(time.Minute)
				s.cancel(&election.Stop{Reason: "test", By: s.clock.Now().Add(10 * time.Second)})
				time.Sleep(3 * time.Second)
				s.mustReturn(nil)
				if f := figures.Read()[0]; runs != 1 || len(f.Failures) > 0 {
					t.Errorf("onExit %s, ended with %v: it ran %d times, failures %v", onExit, bad, runs, f.Failures)
				}
			})
		}
	}
}

// TestEndsWhileAnotherOneGaveUp checks the same for a stop that another runner's failure caused: only
// that runner has failed.
func TestEndsWhileAnotherOneGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := ends("first", time.Minute+time.Second, errors.New("its peer left"), runners.ExitRelease)
		slow := child("slow", func(ctx context.Context, _ election.Term) error {
			<-ctx.Done()
			time.Sleep(2 * time.Second)
			return nil
		})
		s := open(t, first, slow, ends("bad", time.Minute, errBad, runners.ExitRelease))
		time.Sleep(time.Minute + 3*time.Second)
		err, ok := s.returned()
		var gaveUp *runners.GaveUpError
		if !ok || !errors.As(err, &gaveUp) || gaveUp.Runner != "bad" || err.Error() != gaveUp.Error() {
			t.Errorf("Run returned %v", err)
		}
	})
}

// TestUntoldIsNotRunAgain checks that a runner that waits for its next run when the stop begins is
// not run again.
func TestUntoldIsNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		bad := child("bad", func(context.Context, election.Term) error { runs++; return errBad })
		slow := child("slow", func(ctx context.Context, _ election.Term) error {
			<-ctx.Done()
			time.Sleep(4 * time.Second)
			return nil
		})
		s := open(t, bad, slow)
		time.Sleep(100 * time.Millisecond) // the runner waits 0.5 s for its next run
		s.cancel(&election.Stop{Reason: "test", By: s.clock.Now().Add(10 * time.Second)})
		time.Sleep(4 * time.Second)
		s.mustReturn(nil)
		if runs != 1 {
			t.Errorf("it ran %d times, want once", runs)
		}
	})
}
