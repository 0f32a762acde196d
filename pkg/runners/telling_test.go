package runners_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// TestFailureWhileAStopIsTold lets a runner fail while the Manager tells a stop: callbacks of OnEnd run, and the crew's context has not
// ended yet. The others are told the Manager's stop all the same, in time for each to have its share.
func TestFailureWhileAStopIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		stops := make(chan election.Stop, 2)
		takes := func(name string, d time.Duration) runners.Child {
			return child(name, func(ctx context.Context, _ election.Term) error {
				<-ctx.Done()
				stop, _ := election.StopOf(ctx)
				stops <- stop
				time.Sleep(d)
				return nil
			})
		}
		fail := make(chan struct{})
		bad := child("bad", func(ctx context.Context, _ election.Term) error {
			select {
			case <-fail:
				return errBad
			case <-ctx.Done():
				return nil
			}
		})
		bad.OnExit = runners.ExitRelease
		m1 := s.hire("m1", takes("first", 1500*time.Millisecond), takes("slow", 4*time.Second), bad) // within the grace of 5 s
		after(20 * time.Second)
		m1.status.ValidTerm().OnEnd(func(election.Stop) {
			close(fail)
			time.Sleep(time.Millisecond)
		})
		by := s.clock.Now().Add(5 * time.Second)
		m1.stop()
		after(20 * time.Second)
		if len(m1.aborted) > 0 {
			t.Errorf("the process ends: %v", <-m1.aborted)
		}
		<-m1.done
		if len(stops) != 2 {
			t.Fatalf("%d runners were told", len(stops))
		}
		for range 2 {
			if stop := <-stops; stop.By != by {
				t.Errorf("a runner was told %q, by %v later than its grace", stop.Reason, stop.By.Sub(by))
			}
		}
	})
}
