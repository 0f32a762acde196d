package runners_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners"
)

var errBad = errors.New("bad luck")

// shop supervises children in a synctest bubble.
type shop struct {
	*testing.T
	clock  clocktest.Bubble
	extend func(record.Instant) // grants its term a later deadline
	logs   *observer.ObservedLogs
	cancel context.CancelCauseFunc
	done   chan error
}

// open supervises the children in a term that is valid for an hour. Waits have no jitter.
func open(t *testing.T, children ...runners.Child) *shop {
	return openCounted(t, nil, children...)
}

// openCounted is open with figures.
func openCounted(t *testing.T, figures *runners.Figures, children ...runners.Child) *shop {
	s := &shop{T: t, clock: clocktest.Bubble{}, done: make(chan error, 1)}
	core, logs := observer.New(zapcore.DebugLevel)
	s.logs = logs
	runner := runners.Supervise(children, runners.Supervision{
		Clock: s.clock, Log: zap.New(core), Random: func() float64 { return 0.5 }, Figures: figures,
	})
	ctx, cancel := context.WithCancelCause(context.Background())
	s.cancel = cancel
	term, extend := election.NewTerm(election.Term{Election: "e", Identity: "i", Revision: "r", Token: 7}, s.clock.Now().Add(time.Hour))
	s.extend = extend
	go func() { s.done <- runner.Run(ctx, term) }()
	return s
}

func (s *shop) stop() { s.cancel(&election.Stop{Reason: "test", By: s.clock.Now().Add(time.Second)}) }

// returned returns Run's result if it has returned by now.
func (s *shop) returned() (err error, ok bool) {
	synctest.Wait()
	select {
	case err := <-s.done:
		return err, true
	default:
		return nil, false
	}
}

func (s *shop) mustRun() {
	s.Helper()
	if err, ok := s.returned(); ok {
		s.Fatalf("Run returned %v, it must go on", err)
	}
}

// mustReturn checks that Run has returned with the error want, or with nil if want is nil.
func (s *shop) mustReturn(want error) {
	s.Helper()
	err, ok := s.returned()
	if !ok {
		s.Fatal("Run has not returned")
	}
	if !errors.Is(err, want) {
		s.Fatalf("Run returned %v, want %v", err, want)
	}
}

func child(name string, run election.RunnerFunc) runners.Child {
	return runners.Child{Name: name, Runner: run}
}

func good(name string, ended *[]string) runners.Child {
	return child(name, func(ctx context.Context, _ election.Term) error {
		<-ctx.Done()
		*ended = append(*ended, name)
		return ctx.Err()
	})
}

func TestNoChildrenWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		time.Sleep(time.Hour)
		s.mustRun()
		s.stop()
		s.mustReturn(nil)
	})
}

func TestChildrenRunUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b []string
		s := open(t, good("a", &a), good("b", &b))
		time.Sleep(time.Minute)
		s.mustRun()
		s.stop()
		s.mustReturn(nil)
		if len(a) != 1 || len(b) != 1 {
			t.Errorf("a ended %d times, b %d times, want once each", len(a), len(b))
		}
		if s.logs.Len() > 0 {
			t.Errorf("logged: %v", s.logs.All())
		}
	})
}

func TestRunReturnsOnlyWhenAllHaveReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := child("slow", func(ctx context.Context, _ election.Term) error {
			<-ctx.Done()
			time.Sleep(3 * time.Second)
			return nil
		})
		var a []string
		s := open(t, good("a", &a), slow)
		synctest.Wait()
		s.stop() // all must stop within one second
		time.Sleep(2 * time.Second)
		s.mustRun()
		late := s.logs.FilterLevelExact(zapcore.ErrorLevel).All()
		if len(late) != 1 || fmt.Sprint(late[0].ContextMap()["runners"]) != "[slow]" {
			t.Errorf("want one error about slow, logged: %v", late)
		}
		time.Sleep(2 * time.Second)
		s.mustReturn(nil)
	})
}

func TestStopReachesChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stop election.Stop
		var found bool
		s := open(t, child("a", func(ctx context.Context, _ election.Term) error {
			<-ctx.Done()
			stop, found = election.StopOf(ctx)
			return nil
		}))
		synctest.Wait()
		s.stop()
		s.mustReturn(nil)
		if !found || stop.Reason != "test" {
			t.Errorf("the child was told %+v, %v", stop, found)
		}
	})
}

func TestRestartsWithGrowingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Duration
		began := time.Now()
		var stop election.Stop
		sibling := child("sibling", func(ctx context.Context, _ election.Term) error {
			<-ctx.Done()
			stop, _ = election.StopOf(ctx)
			time.Sleep(time.Second)
			return nil
		})
		s := open(t, sibling, child("bad", func(context.Context, election.Term) error {
			starts = append(starts, time.Since(began))
			return errBad
		}))
		const all = 500*time.Millisecond + time.Second + 2*time.Second + 4*time.Second
		time.Sleep(all + 500*time.Millisecond)
		s.mustRun() // the sibling is joined
		time.Sleep(time.Second)
		s.mustReturn(errBad)
		want := []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond, 3500 * time.Millisecond, all}
		if !slices.Equal(starts, want) {
			t.Errorf("started at %v, want %v", starts, want)
		}
		if !strings.Contains(stop.Reason, "bad failed 5 times in a row") || stop.By == 0 {
			t.Errorf("the sibling was told %+v", stop)
		}
		if n := s.logs.FilterLevelExact(zapcore.WarnLevel).Len(); n != 4 {
			t.Errorf("%d restarts are logged, want 4", n)
		}
	})
}

func TestGivingUpSaysWho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, child("bad", func(context.Context, election.Term) error { return errBad }))
		time.Sleep(time.Minute)
		err, _ := s.returned()
		var gaveUp *runners.GaveUpError
		if !errors.As(err, &gaveUp) || gaveUp.Runner != "bad" || gaveUp.Failures != 5 {
			t.Errorf("Run returned %v, want a GaveUpError of bad after 5 failures", err)
		}
	})
}

func TestOtherFailures(t *testing.T) {
	for name, c := range map[string]struct {
		run  election.RunnerFunc
		want string
	}{
		"returns nil": {func(context.Context, election.Term) error { return nil }, "returned before its term ended"},
		"panics":      {func(context.Context, election.Term) error { panic("ouch") }, "panicked: ouch"},
		"exits":       {func(context.Context, election.Term) error { runtime.Goexit(); return nil }, "ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var a []string
				s := open(t, good("a", &a), child("bad", c.run))
				time.Sleep(time.Minute)
				err, ok := s.returned()
				if !ok || err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("Run returned %v, %v, want %q", err, ok, c.want)
				}
				if len(a) != 1 {
					t.Errorf("the sibling ended %d times, want once", len(a))
				}
			})
		})
	}
}

func TestPanicIsLoggedWithItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, child("bad", func(context.Context, election.Term) error { panic("ouch") }))
		synctest.Wait()
		s.stop()
		s.mustReturn(nil)
		found := s.logs.FilterMessage("runner panicked").All()
		if len(found) != 1 || found[0].Level != zapcore.ErrorLevel {
			t.Fatalf("logged: %v", s.logs.All())
		}
		fields := found[0].ContextMap()
		if stack := fmt.Sprint(fields["stack"]); !strings.Contains(stack, "TestPanicIsLoggedWithItsStack") {
			t.Errorf("the stack does not lead to the panic:\n%s", stack)
		}
		for field, want := range map[string]any{"election": "e", "identity": "i", "revision": "r", "term": uint64(7), "runner": "bad", "panic": "ouch"} {
			if fields[field] != want {
				t.Errorf("field %s is %v, want %v", field, fields[field], want)
			}
		}
	})
}

func TestHealthyRunsForgetFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := open(t, child("moody", func(ctx context.Context, _ election.Term) error {
			runs++
			if runs%4 == 0 {
				time.Sleep(31 * time.Second)
			}
			return errBad
		}))
		time.Sleep(10 * time.Minute)
		s.mustRun()
		if runs < 20 {
			t.Errorf("it ran %d times only", runs)
		}
		s.stop()
		time.Sleep(31 * time.Second)
		s.mustReturn(nil)
	})
}

func TestNothingStartsAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := open(t, child("a", func(ctx context.Context, _ election.Term) error {
			runs++
			if runs > 1 {
				<-ctx.Done()
				return nil
			}
			time.Sleep(time.Hour)
			return fmt.Errorf("killed: %w", runners.ErrDeadline)
		}))
		time.Sleep(2 * time.Hour)
		s.mustRun()
		if runs != 1 {
			t.Fatalf("it ran %d times in an expired term", runs)
		}
		s.extend(s.clock.Now().Add(time.Hour))
		synctest.Wait()
		if runs != 2 {
			t.Fatalf("it ran %d times, want a second run in the extended term", runs)
		}
		s.stop()
		s.mustReturn(nil)
	})
}

func TestDeadlinesAreNotHeldAgainstARunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := open(t, child("a", func(context.Context, election.Term) error {
			runs++
			return runners.ErrDeadline
		}))
		time.Sleep(time.Minute)
		s.mustRun()
		if runs < 20 || runs > 130 {
			t.Errorf("it ran %d times in a minute, want one each 500 ms", runs)
		}
		s.stop()
		s.mustReturn(nil)
	})
}

func TestErrorAfterTheStopIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, child("a", func(ctx context.Context, _ election.Term) error {
			<-ctx.Done()
			return errBad
		}))
		synctest.Wait()
		s.stop()
		s.mustReturn(nil)
		if s.logs.FilterMessage("runner stopped with an error").Len() != 1 {
			t.Errorf("logged: %v", s.logs.All())
		}
	})
}

func TestStopDuringTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, child("bad", func(context.Context, election.Term) error { return errBad }))
		time.Sleep(600 * time.Millisecond)
		s.stop()
		s.mustReturn(nil)
	})
}

func TestJitterStaysWithinAFifth(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 400 * time.Millisecond, 0.5: 500 * time.Millisecond, 1: 600 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			var starts []time.Time
			runner := runners.Supervise([]runners.Child{child("bad", func(context.Context, election.Term) error {
				starts = append(starts, time.Now())
				return errBad
			})}, runners.Supervision{Clock: clocktest.Bubble{}, Random: func() float64 { return random }, Restart: runners.Restart{Failures: 2}})
			term, _ := election.NewTerm(election.Term{}, clocktest.Bubble{}.Now().Add(time.Hour))
			if err := runner.Run(t.Context(), term); !errors.Is(err, errBad) {
				t.Errorf("Run returned %v", err)
			}
			if got := starts[1].Sub(starts[0]); got != want {
				t.Errorf("random %v: waited %v, want %v", random, got, want)
			}
		})
	}
}
