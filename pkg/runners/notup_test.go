package runners_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// TestNotUpInTime checks that an Announcer that is not up in time has failed to start: its onExit
// says what follows, although each attempt lasted longer than Restart.Healthy.
func TestNotUpInTime(t *testing.T) {
	for onExit, failures := range map[runners.OnExit]int{"": 5, runners.ExitRelease: 1, runners.ExitStop: 1} {
		synctest.Test(t, func(t *testing.T) {
			var o order
			b := o.tells("b", time.Hour, 0)
			b.OnExit = onExit
			s := open(t, o.cannotTell("a", 0), b, o.cannotTell("c", 0))
			time.Sleep(runners.UpWithin - time.Second)
			o.begun(t, "a", "b")
			s.mustRun()
			time.Sleep(time.Duration(failures)*(runners.UpWithin+10*time.Second) - runners.UpWithin)
			err, _ := s.returned()
			var gaveUp *runners.GaveUpError
			if !errors.As(err, &gaveUp) || gaveUp.Runner != "b" || gaveUp.Failures != failures || !strings.Contains(err.Error(), "it was not up within 1m0s") {
				t.Errorf("onExit %q: Run returned %v", onExit, err)
			}
		})
	}
}

// TestSlowStartsAreFailures checks that a start that takes too long counts as a failure, although each attempt lasted
// longer than Restart.Healthy, and although a runner that is no Announcer counts as up at once.
func TestSlowStartsAreFailures(t *testing.T) {
	for onExit, failures := range map[runners.OnExit]int{"": 5, runners.ExitRelease: 1, runners.ExitStop: 1} {
		synctest.Test(t, func(t *testing.T) {
			slow := child("slow", func(context.Context, election.Term) error {
				time.Sleep(runners.DefaultRestart.Healthy + time.Second)
				return fmt.Errorf("not started: %w", runners.ErrSlowStart)
			})
			slow.OnExit = onExit
			var o order
			s := open(t, o.cannotTell("a", 0), slow)
			time.Sleep(10 * time.Minute)
			err, _ := s.returned()
			var gaveUp *runners.GaveUpError
			if !errors.As(err, &gaveUp) || gaveUp.Runner != "slow" || gaveUp.Failures != failures || !errors.Is(err, runners.ErrSlowStart) {
				t.Errorf("onExit %q: Run returned %v", onExit, err)
			}
		})
	}
}

// TestUpJustInTime checks that a runner that is up in time is left alone, and that each new run has
// the full time again.
func TestUpJustInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		b := runners.Child{Name: "b", Runner: runners.AnnouncedFunc(func(ctx context.Context, _ election.Term, up func()) error {
			if runs++; runs == 1 {
				time.Sleep(runners.UpWithin / 2)
				return errBad
			}
			time.Sleep(runners.UpWithin - time.Second)
			up()
			<-ctx.Done()
			return nil
		})}
		s := open(t, b)
		time.Sleep(10 * time.Minute)
		s.mustRun()
		if runs != 2 {
			t.Errorf("it ran %d times, want twice", runs)
		}
		s.stop()
		s.mustReturn(nil)
	})
}

// TestUpTooLate checks that a runner that is up too late does not count as up: the runners after it
// do not start.
func TestUpTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := runners.Child{Name: "b", OnExit: runners.ExitRelease, Runner: runners.AnnouncedFunc(func(ctx context.Context, _ election.Term, up func()) error {
			<-ctx.Done()
			up()
			time.Sleep(time.Second)
			return nil
		})}
		var o order
		s := open(t, b, o.cannotTell("c", 0))
		time.Sleep(2 * runners.UpWithin)
		o.want(t)
		err, _ := s.returned()
		if err == nil || !strings.Contains(err.Error(), "runner b ended before its term: it was not up within 1m0s") {
			t.Errorf("Run returned %v", err)
		}
	})
}

// TestDeafStartEndsTheProcess checks that a function that is not up in time and ignores its stop
// costs the term, so that the Manager ends the process.
func TestDeafStartEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		deaf := runners.AnnouncedFunc(func(context.Context, election.Term, func()) error {
			time.Sleep(time.Hour)
			return nil
		})
		m1 := s.hire("m1", runners.Child{Name: "deaf", Runner: deaf}, child("b", func(context.Context, election.Term) error { return nil }))
		after(15*time.Second + 2*runners.UpWithin - 2*time.Second) // the lock is taken after 15 s
		if len(m1.aborted) > 0 {
			t.Fatalf("too early: %v", <-m1.aborted)
		}
		after(10 * time.Second)
		if len(m1.aborted) == 0 {
			t.Fatal("the lock is kept by work that does not begin")
		}
		if err := <-m1.aborted; !strings.Contains(err.Error(), "deaf ended before its term: it was not up within 1m0s") {
			t.Errorf("aborted with %v", err)
		}
		m1.stop()
		<-m1.done
	})
}
