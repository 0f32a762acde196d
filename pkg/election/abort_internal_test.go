package election

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// hungLog is a log that takes nothing until its channel is closed.
type hungLog struct {
	zapcore.Core
	until chan struct{}
}

func (h hungLog) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return to.AddCore(e, h)
}

func (h hungLog) Write(e zapcore.Entry, fields []zapcore.Field) error {
	<-h.until
	return h.Core.Write(e, fields)
}

// TestNoAbortAwaitsTheLog checks that work that does not stop ends its process when its time is over, though the log hangs,
// and that the log was told why before.
func TestNoAbortAwaitsTheLog(t *testing.T) {
	for name, frozen := range map[string]time.Duration{"in time": 0, "after a freeze": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clocktest.Bubble{}
				core, lines := observer.New(zap.InfoLevel)
				hung, release := hungLog{core, make(chan struct{})}, make(chan struct{})
				var wg sync.WaitGroup
				by := c.Now().Add(time.Second)
				aborted := make(chan time.Duration, 1)
				aborter := aborter{func(error) { aborted <- c.Now().Sub(by) }, zap.New(hung)}
				stubborn := RunnerFunc(func(context.Context, Term) error { <-release; return nil })
				w := begin(t.Context(), c, stubborn, Term{Election: "a", Token: 1}, by.Add(time.Hour), 10*time.Second, aborter, &wg, func(error, bool) {})
				time.Sleep(frozen) // as if the stop came only now
				w.end(Stop{Reason: "test", By: by})
				most := latestLog
				if frozen == 0 {
					most = 0
				}
				if late := <-aborted; late < 0 || late > max(0, frozen-time.Second)+most {
					t.Errorf("the process ends %v after its work had to", late)
				}
				close(hung.until)
				synctest.Wait()
				if lines.Len() != 1 {
					t.Errorf("the log has %v, want one line", lines.All())
				}
				close(release)
				wg.Wait()
			})
		})
	}
}

// queuingLog is a log that writes its last line on Sync, and needs half of latestLog for that.
type queuingLog struct {
	zapcore.Core
	last *zapcore.Entry
}

func (q *queuingLog) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return to.AddCore(e, q)
}

func (q *queuingLog) Write(e zapcore.Entry, _ []zapcore.Field) error {
	q.last = &e
	return nil
}

func (q *queuingLog) Sync() error {
	time.Sleep(latestLog / 2)
	return q.Core.Write(*q.last, nil)
}

// TestAnAbortIsWrittenFirst checks that a log that queues its lines, and is healthy, has written why the process ends before it
// ends, even if nothing was said ahead.
func TestAnAbortIsWrittenFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.Bubble{}
		core, lines := observer.New(zap.InfoLevel)
		release, written := make(chan struct{}), make(chan int, 1)
		stubborn := RunnerFunc(func(context.Context, Term) error { <-release; return nil })
		var wg sync.WaitGroup
		by := c.Now().Add(time.Second)
		aborter := aborter{func(error) { written <- lines.Len() }, zap.New(&queuingLog{Core: core})}
		w := begin(t.Context(), c, stubborn, Term{Election: "a"}, by.Add(time.Hour), 10*time.Second, aborter, &wg, func(error, bool) {})
		time.Sleep(3 * time.Second) // as if the stop came only now
		w.end(Stop{Reason: "test", By: by})
		if n := <-written; n != 1 {
			t.Errorf("%d lines were written, want one", n)
		}
		close(release)
		wg.Wait()
	})
}

// TestAbortIsCalledOnce checks that work that ends while the process waits for its last line does not call Abort again.
func TestAbortIsCalledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.Bubble{}
		hung, release := hungLog{zapcore.NewNopCore(), make(chan struct{})}, make(chan struct{})
		aborted := make(chan error, 2)
		stubborn := RunnerFunc(func(context.Context, Term) error { <-release; return nil })
		var wg sync.WaitGroup
		by := c.Now().Add(time.Second)
		w := begin(t.Context(), c, stubborn, Term{Election: "a"}, by.Add(time.Hour), 10*time.Second, aborter{func(err error) { aborted <- err }, zap.New(hung)}, &wg, func(error, bool) {})
		time.Sleep(3 * time.Second) // as if the stop came only now
		w.end(Stop{Reason: "test", By: by})
		time.Sleep(latestLog / 2)
		close(release) // it ends late, beside the abort that waits for the log
		time.Sleep(time.Minute)
		wg.Wait()
		if len(aborted) != 1 {
			t.Errorf("Abort was called %d times", len(aborted))
		}
		close(hung.until)
	})
}

// TestWorkThatStopsLate checks that the log is told when the time of the work is nearly over, and that the process goes on
// if the work stops then.
func TestWorkThatStopsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, left := range []time.Duration{2 * warnAhead, warnAhead / 2} {
			core, lines := observer.New(zap.InfoLevel)
			c := clocktest.Bubble{}
			aborter := aborter{func(err error) { t.Errorf("with %v left: %v", left, err) }, zap.New(core)}
			late := RunnerFunc(func(ctx context.Context, _ Term) error {
				<-ctx.Done()
				time.Sleep(5*time.Second - left)
				return nil
			})
			var wg sync.WaitGroup
			w := begin(t.Context(), c, late, Term{Election: "a", Token: 1}, c.Now().Add(time.Hour), 5*time.Second, aborter, &wg, func(error, bool) {})
			w.end(Stop{Reason: "test", By: c.Now().Add(5 * time.Second)})
			wg.Wait()
			time.Sleep(time.Minute)
			if want := left < warnAhead; (lines.Len() > 0) != want {
				t.Errorf("with %v left: the log has %v", left, lines.All())
			}
		}
	})
}

const stubbornProcess = "PRIMACY_TEST_STUBBORN_PROCESS"

// TestProcessEndsOnTime checks the default Abort with a whole process, whose function ignores its context and whose log
// hangs: the function is not at work any more when another member may begin.
func TestProcessEndsOnTime(t *testing.T) {
	if os.Getenv(stubbornProcess) != "" {
		beStubborn(t)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestProcessEndsOnTime$", "-test.count=1")
	cmd.Env = append(os.Environ(), stubbornProcess+"=yes")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitAborted {
		t.Fatalf("it ended with %v, want status %d", err, exitAborted)
	}
	if said := string(out); !strings.HasPrefix(said, "at work\n") || strings.Contains(said, "late") {
		t.Errorf("it said %q, want that it was at work, and never too late", said)
	}
}

// beStubborn says when its work goes on for longer than others wait.
func beStubborn(t *testing.T) {
	boot, timing := clock.Boottime(), Fast()
	store := memory.New(boot).Store()
	core, _ := observer.New(zap.InfoLevel)
	until := make(chan struct{})
	m, err := NewManager(Config{
		Group: "edge", Host: "m1", Member: Member{Revision: "stable"}, Locks: store, Timing: timing, Log: zap.New(hungOnError{hungLog{core, until}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	others := timing.ObserverWait(timing.LeaseDuration) - timing.Validity()
	if _, err := m.Add(Spec{Name: "a", Bootstrap: BootstrapImmediate}, RunnerFunc(func(_ context.Context, term Term) error {
		store.On(memory.Put, memory.Hang())
		_, _ = io.WriteString(os.Stdout, "at work\n")
		deadline, _ := term.Deadline()
		timer := clock.NewTimer(clock.Until(boot, deadline.Add(others)))
		<-timer.C
		_, _ = io.WriteString(os.Stdout, "late\n")
		<-until
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	_ = m.Run(t.Context())
}

// hungOnError hangs on errors only.
type hungOnError struct{ hungLog }

func (h hungOnError) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Level < zap.ErrorLevel {
		return to
	}
	return to.AddCore(e, h)
}
