package election

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// work is the work of one term: a runner on a goroutine of its own, and a guard that
// keeps the deadline even if the host is held up.
type work struct {
	clock    clock.Clock
	grace    time.Duration
	validity *validity
	cancel   context.CancelCauseFunc
	aborter  aborter
	term     Term
	// contained is what the runner says of itself (Contained).
	contained bool

	// gone: the runner has returned. stopBy is the time of stop, zero before it was set. They are for overdue,
	// which takes no lock.
	gone   atomic.Bool
	stopBy atomic.Int64

	mu sync.Mutex
	// reach gives the term its deadline and, while the reach is calm, guards the work; nil if the term has a
	// deadline of its own.
	reach *reach
	// stop is set once the work was told to stop; it never changes after that.
	stop *Stop
	// gaveUp: the runner itself wanted the stop.
	gaveUp   bool
	returned bool
	guard    *clock.Timer
	// ending is nil before the work was told to stop.
	ending *ending
	// ended is when the last process of a contained runner ended, as far as it reported; for other
	// runners, when the runner returned.
	ended record.Instant
	// returnBy is until when a contained runner may still return after its work had to be dead; zero until
	// that time came.
	returnBy record.Instant
}

// lateReturn is how long after its work must be dead a contained runner may still return. After a freeze,
// or on a busy machine, the work may be dead before the runner knows it.
const lateReturn = 2 * time.Second

// begin starts the runner on a goroutine that wg joins. The runner's context has the values of ctx, and outlives it. Once the runner has ended, that
// goroutine calls returned with expired, and with the runner's error, a member.PanicError or ErrGoexit.
func begin(ctx context.Context, c clock.Clock, runner Runner, term Term, deadline record.Instant, grace time.Duration, abort aborter, wg *sync.WaitGroup, returned func(err error, expired bool)) *work {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	w := &work{clock: c, grace: grace, validity: newValidity(deadline), cancel: cancel, aborter: abort}
	w.term = term
	w.term.validity = w.validity
	w.term.giveUp, w.term.ended = w.giveUp, w.hasEnded
	if r, is := runner.(Contained); is {
		w.contained = r.Contained()
	}
	w.mu.Lock()
	w.guard = clock.AfterFunc(clock.Until(c, deadline.Add(-grace)), w.keep)
	w.mu.Unlock()
	wg.Go(func() {
		err := ErrGoexit // if the runner neither returns nor panics
		defer func() {
			w.gone.Store(true)
			w.locked(func() (then func()) {
				w.returned = true
				w.leaveReach() // else the reach would keep it for ever
				w.guard.Stop()
				if w.ending != nil && w.ending.warning != nil {
					w.ending.warning.Stop()
				}
				if w.ended > w.deadBy() {
					return w.abortLocked("ended too late", overLog)
				}
				return nothing
			})
			cancel(nil)
			returned(err, w.expired())
		}()
		err = w.run(ctx, runner)
	})
	return w
}

func (w *work) run(ctx context.Context, runner Runner) (err error) {
	if w.tooLate() {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = &member.PanicError{Value: p, Stack: string(debug.Stack())}
		}
		if !w.contained {
			w.hasEnded(w.clock.Now())
		}
	}()
	return unlessEnded(ctx, runner.Run(ctx, w.term))
}

// unlessEnded returns err, or nil if err says no more than that ctx has ended.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
		return nil
	}
	return err
}

// tooLate says whether the guard's time has come before the runner was called; then the runner must not
// be called.
func (w *work) tooLate() (late bool) {
	w.locked(func() (then func()) {
		deadline, _ := w.validity.Deadline()
		if !w.term.Fenced() || w.clock.Now() < deadline.Add(-w.grace) {
			return nothing
		}
		late = true
		return w.endLocked(Stop{Reason: string(machine.ReasonExpired), By: deadline})
	})
	return late
}

// locked calls f with mu held, and then, without mu, the function that f returned.
func (w *work) locked(f func() (then func())) {
	then := nothing
	func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		then = f()
	}()
	then()
}

func nothing() {}

// extend lets the work go on until deadline, unless it was told to stop.
func (w *work) extend(deadline record.Instant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil || w.returned {
		return
	}
	if r := w.reach; r != nil {
		w.leaveReach()
		defer r.validity.wake() // waiters for a beat must wait for this work's own deadline from here on
	}
	w.validity.extend(deadline)
	w.guard.Reset(clock.Until(w.clock, deadline.Add(-w.grace)))
}

// goBy gives the work the deadline of the reach, unless it was told to stop.
func (w *work) goBy(r *reach) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil || w.returned {
		return
	}
	w.leaveReach()
	w.reach = r
	w.validity.follow(r.validity)
	r.join(w)
	if r.calm() {
		w.guard.Stop()
	}
}

// leaveReach leaves the reach. The work keeps the deadline that the reach has now.
func (w *work) leaveReach() {
	if w.reach != nil {
		w.validity.stand()
		w.reach.leave(w)
		w.reach = nil
	}
}

// end tells the work to stop and be dead at s.By. Only the first call counts.
func (w *work) end(s Stop) {
	w.locked(func() (then func()) { return w.endLocked(s) })
}

// endLocked makes the guard await the end of the work. It returns a function that calls the callbacks of OnEnd and then
// tells the work to stop. The caller must call that function without a lock: a callback may use the Term, and while one
// blocks, the guard must still run.
func (w *work) endLocked(s Stop) (tell func()) {
	if w.stop != nil || w.returned {
		return nothing
	}
	w.stop = &s
	w.stopBy.Store(int64(s.By))
	w.leaveReach()
	w.warnLater(s.By)
	w.guard.Reset(clock.Until(w.clock, s.By))
	var over *life
	if w.term.status != nil {
		over = w.term.status.over(w.term.Token, s) // here too, since the guard stops work without the host
	}
	return func() {
		defer w.cancel(&s) // also if a callback panics
		over.tell()
	}
}

// giveUp stops the work because its runner asks for it. The deadline is not extended from here
// on, though the lock is renewed until the runner has returned.
func (w *work) giveUp(why string) {
	told := make(chan struct{})
	go func() { // joined below. We recover a panic of the runner; on this goroutine nobody recovers one of a callback of OnEnd.
		defer close(told)
		w.locked(func() (then func()) {
			if w.stop != nil || w.returned {
				return nothing
			}
			w.gaveUp = true
			return w.endLocked(w.inFull(Stop{Reason: why, kept: true}))
		})
	}()
	<-told
}

// inFull moves s.By so that the work has its whole grace from now on, but ends by the term's deadline. The host may have
// been held up for longer than the grace since the member chose s.By.
func (w *work) inFull(s Stop) Stop {
	s.By = max(s.By, w.clock.Now().Add(w.grace))
	if deadline, _ := w.validity.Deadline(); w.term.Fenced() {
		s.By = min(deadline, s.By)
	}
	return s
}

// deadBy is until when the work may live without harm: until the end of its term, even if it was
// told to stop earlier. Without a token it is the time of its Stop, if it has one.
func (w *work) deadBy() record.Instant {
	switch deadline, _ := w.validity.Deadline(); {
	case w.term.Fenced():
		return deadline
	case w.stop != nil:
		return w.stop.By
	}
	return math.MaxInt64
}

// overdue is how long ago the process had to end because of this work; zero or less if all is well. It does not take
// mu: the holder of mu may be stuck.
func (w *work) overdue(now record.Instant) time.Duration {
	by := record.Instant(w.stopBy.Load())
	if w.term.Fenced() {
		by, _ = w.validity.Deadline()
	}
	if by == 0 || w.gone.Load() {
		return 0
	}
	if w.contained {
		by = by.Add(lateReturn)
	}
	return now.Sub(by)
}

// hasEnded notes when processes of a contained runner ended, or another runner returned.
func (w *work) hasEnded(at record.Instant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = max(w.ended, at)
}

// expired says whether anything but the runner stopped the work: the member, or else the guard.
func (w *work) expired() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stop != nil && !w.gaveUp
}

// keep runs when the guard's time has come: first to stop the work if nobody else has,
// then to end the process if the work is still there when it must be dead.
func (w *work) keep() { w.locked(w.keepLocked) }

// keepApart has the guard's timer run keep at once, on its own goroutine, since a callback of OnEnd may block.
func (w *work) keepApart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.returned {
		w.guard.Reset(0)
	}
}

func (w *work) keepLocked() (then func()) {
	if w.returned {
		return nothing
	}
	now := w.clock.Now()
	deadline, _ := w.validity.Deadline()
	switch stopAt := deadline.Add(-w.grace); {
	case w.stop == nil && now < stopAt && w.reach != nil && w.reach.calm():
		// The reach's guard calls keep again.
	case w.stop == nil && now < stopAt:
		w.guard.Reset(stopAt.Sub(now))
	case w.stop == nil && !w.term.Fenced():
		// Nobody waits for its end; the next extension sets the guard again.
	case w.stop == nil:
		return w.endLocked(Stop{Reason: string(machine.ReasonExpired), By: deadline})
	case now < w.stop.By:
		w.guard.Reset(w.stop.By.Sub(now))
	case w.contained && w.returnBy == 0:
		w.returnBy = now.Add(lateReturn)
		w.guard.Reset(lateReturn)
	case now < w.returnBy: // the guard was set anew when it was already on its way
		w.guard.Reset(w.returnBy.Sub(now))
	case w.contained: // nothing works any more
		return w.abortLocked("did not stop within its grace", overLog)
	default:
		return w.abortLocked("did not stop within its grace", latestLog)
	}
	return nothing
}
