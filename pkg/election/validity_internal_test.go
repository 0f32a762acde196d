package election

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// handClock shows the time that the test sets.
type handClock struct{ now atomic.Int64 }

func (c *handClock) Now() record.Instant { return record.Instant(c.now.Load()) }
func (c *handClock) Wall() time.Time     { return time.Time{} }

// TestExtendedAtTheVeryDeadline checks that an extension that arrives at the deadline cuts what was under
// way and nothing that begins after it. A term that was stopped is not extended.
func TestExtendedAtTheVeryDeadline(t *testing.T) {
	c := &handClock{}
	s := newStatus("a", newShared(c))
	if s.extend(50); s.ValidTerm() != nil {
		t.Error("no term is valid")
	}
	s.begin(1, 100)
	ended := make(chan Stop, 2)
	s.ValidTerm().OnEnd(func(why Stop) { ended <- why })
	c.now.Store(100)
	if why := <-ended; why.By != 100 || s.ValidTerm() != nil {
		t.Errorf("ended by %d, valid %v", why.By, s.ValidTerm())
	}
	s.extend(1 << 62)
	v := s.ValidTerm()
	if v == nil || v.Token != 1 {
		t.Fatalf("extended, yet %v", v)
	}
	forget := v.OnEnd(func(Stop) { t.Error("it was forgotten") })
	forget()
	v.OnEnd(func(why Stop) { ended <- why })
	if len(ended) != 0 {
		t.Fatal("it is over at once")
	}
	if s.end(2, Stop{}); s.ValidTerm() == nil {
		t.Error("another term's end ended it")
	}
	s.end(1, Stop{Reason: "why"})
	s.end(1, Stop{})
	if why := <-ended; why.Reason != "why" || len(ended) != 0 {
		t.Errorf("%v", why)
	}
	if s.extend(1 << 62); s.ValidTerm() != nil {
		t.Error("a stopped term was extended")
	}
	v.OnEnd(func(why Stop) { ended <- why })
	if why := <-ended; why.Reason != "why" {
		t.Errorf("asked for later: %v", why)
	}
	if (Term{Token: 1}).Valid() != nil {
		t.Error("a term that no Manager began is valid")
	}
}

// TestACallbackOfTheEndUsesTheTerm ends a term in each possible way. A callback of OnEnd asks the Status, and gives the
// term up. The test checks that nobody hangs, and that the callback runs once and before the work is told to stop. In
// real time: a bubble waits for ever for a mutex that nobody releases.
func TestACallbackOfTheEndUsesTheTerm(t *testing.T) {
	const grace, deadline = time.Minute, record.Instant(time.Hour)
	for name, end := range map[string]func(*handClock, *life, *work){
		"by the host":     func(_ *handClock, _ *life, w *work) { w.end(Stop{Reason: "why", By: deadline}) },
		"by its runner":   func(_ *handClock, _ *life, w *work) { w.term.GiveUp("why") },
		"by the guard":    func(c *handClock, _ *life, w *work) { c.now.Store(int64(deadline.Add(-grace))); w.keep() },
		"at its deadline": func(c *handClock, l *life, _ *work) { c.now.Store(int64(deadline)); l.keep() },
	} {
		t.Run(name, func(t *testing.T) {
			c := &handClock{}
			s := newStatus("a", newShared(c))
			s.begin(1, deadline)
			began, told := make(chan context.Context, 1), make(chan Stop, 1)
			runner := RunnerFunc(func(ctx context.Context, _ Term) error {
				began <- ctx
				<-ctx.Done()
				stop, _ := StopOf(ctx)
				told <- stop
				return nil
			})
			var wg sync.WaitGroup
			w := begin(t.Context(), c, runner, Term{Election: "a", Token: 1, status: s}, deadline, grace, aborter{func(error) {}, zap.NewNop()}, &wg, func(error, bool) {})
			ctx, v := <-began, s.ValidTerm()
			var calls, wrong atomic.Int32
			v.OnEnd(func(Stop) {
				calls.Add(1)
				if ctx.Err() != nil || s.IsLeader() || w.term.Valid() != nil {
					wrong.Add(1)
				}
				w.term.Ended(c.Now())
				w.term.GiveUp("again")
			})
			over := make(chan struct{})
			go func() {
				defer close(over)
				end(c, v.life, w)
				wg.Wait()
			}()
			select {
			case <-over:
			case <-clock.NewTimer(time.Minute).C:
				t.Fatal("the callback hangs, and with it the goroutine that ends the term")
			}
			if stop := <-told; calls.Load() != 1 || wrong.Load() != 0 || stop.By == 0 {
				t.Errorf("called %d times, %d of them during the term or after the work was told to stop; told %+v", calls.Load(), wrong.Load(), stop)
			}
		})
	}
}

// TestACallbackThatBlocks ends the terms of one reach, whose callbacks of OnEnd block in half of them. It checks that
// the others are told to stop in time, and that the process ends at the deadline because of each of the blocked ones.
func TestACallbackThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const works = 20
		c := clocktest.Bubble{}
		r := newReach(c, member.Beat{Since: 1, Deadline: after(10 * time.Second)})
		release := make(chan struct{})
		var wg sync.WaitGroup
		var inTime, aborted atomic.Int32
		runner := RunnerFunc(func(ctx context.Context, _ Term) error {
			<-ctx.Done()
			if c.Now() == after(7*time.Second) {
				inTime.Add(1)
			}
			return nil
		})
		for n := range works {
			s := newStatus("a", newShared(c))
			s.begin(1, r.deadline())
			s.goBy(r, time.Second)
			if n%2 == 0 {
				s.ValidTerm().OnEnd(func(Stop) { <-release })
			}
			abort := func(error) {
				if c.Now() == after(10*time.Second) && n%2 == 0 {
					aborted.Add(1)
				}
			}
			w := begin(t.Context(), c, runner, Term{Election: "a", Token: 1, status: s}, r.deadline(), 3*time.Second, aborter{abort, zap.NewNop()}, &wg, func(error, bool) {})
			w.goBy(r)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if inTime.Load() != works/2 || aborted.Load() != works/2 {
			t.Errorf("%d of %d works were told to stop in time, and %d of %d blocked ones end the process", inTime.Load(), works/2, aborted.Load(), works/2)
		}
		close(release)
		wg.Wait()
	})
}

// TestACallbackThatPanics checks that the other callbacks are called, and the work is told to stop, although callbacks
// panic.
func TestACallbackThatPanics(t *testing.T) {
	const callbacks = 10
	c := &handClock{}
	s := newStatus("a", newShared(c))
	s.begin(1, record.Instant(time.Hour))
	runner := RunnerFunc(func(ctx context.Context, _ Term) error { <-ctx.Done(); return nil })
	var wg sync.WaitGroup
	var ended bool
	w := begin(t.Context(), c, runner, Term{Election: "a", Token: 1, status: s}, record.Instant(time.Hour), time.Minute, aborter{func(error) {}, zap.NewNop()}, &wg, func(_ error, told bool) { ended = told })
	calls := 0
	for range callbacks {
		s.ValidTerm().OnEnd(func(Stop) {
			calls++
			panic("a callback")
		})
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("somebody recovered the panic")
			}
		}()
		w.end(Stop{Reason: "why", By: record.Instant(time.Minute)})
	}()
	over := make(chan struct{})
	go func() { wg.Wait(); close(over) }()
	select {
	case <-over:
	case <-clock.NewTimer(time.Minute).C:
		t.Fatal("the work was not told to stop")
	}
	if calls != callbacks || !ended {
		t.Errorf("%d of %d callbacks were called, told to stop: %v", calls, callbacks, ended)
	}
}

// TestACallbackThatPanicsAsARunnerGivesUp checks, in a process of its own, that nobody recovers the panic of a callback that
// runs because the runner gave its term up: the runner's other parts would work on while the next member leads.
func TestACallbackThatPanicsAsARunnerGivesUp(t *testing.T) {
	const inChild = "PRIMACY_A_CALLBACK_PANICS"
	if os.Getenv(inChild) != "" {
		s := newStatus("a", newShared(&handClock{}))
		s.begin(1, record.Instant(time.Hour))
		s.ValidTerm().OnEnd(func(Stop) { panic("a callback") })
		runner := RunnerFunc(func(_ context.Context, term Term) error { term.GiveUp("why"); return nil })
		var wg sync.WaitGroup
		begin(t.Context(), &handClock{}, runner, Term{Election: "a", Token: 1, status: s}, record.Instant(time.Hour), time.Minute, aborter{func(error) {}, zap.NewNop()}, &wg, func(error, bool) {})
		wg.Wait()
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$") // #nosec G204 G702 -- it is ourselves
	again.Env = append(os.Environ(), inChild+"=1")
	if out, err := again.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("panic: a callback")) {
		t.Errorf("the process ended with %v, and said:\n%s", err, out)
	}
}

// TestTwoEndATerm ends a term twice at once. It checks that each callback of OnEnd is called once.
func TestTwoEndATerm(t *testing.T) {
	for range 100 {
		c := &handClock{}
		s := newStatus("a", newShared(c))
		s.begin(1, 100)
		v := s.ValidTerm()
		var calls [50]atomic.Int32
		var called sync.WaitGroup
		for n := range calls {
			called.Add(1)
			v.OnEnd(func(Stop) {
				if calls[n].Add(1) == 1 {
					called.Done()
				}
			})
		}
		c.now.Store(100)
		var wg sync.WaitGroup
		wg.Go(v.life.keep)
		wg.Go(func() { s.end(1, Stop{Reason: "why"}) })
		wg.Wait()
		called.Wait() // the timer of the life may have come first
		for n := range calls {
			if got := calls[n].Load(); got != 1 {
				t.Fatalf("callback %d was called %d times", n, got)
			}
		}
	}
}
