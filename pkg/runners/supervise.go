package runners

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Supervision is how children are kept running. The zero Supervision works.
type Supervision struct {
	Restart Restart
	// Clock tells how long a run lasted; nil means that of production.
	Clock clock.Clock
	// Log takes failures and restarts; nil means nowhere.
	Log *zap.Logger
	// Random yields numbers in [0, 1) for the jitter; nil means those of math/rand.
	Random func() float64
}

// GaveUpError is why a supervision ended before its term did.
type GaveUpError struct {
	// Runner is the child that failed, so many times in a row.
	Runner   string
	Failures int
	// Last is what it failed of the last time.
	Last error
}

func (e *GaveUpError) Error() string {
	return fmt.Sprintf("runner %s failed %d times in a row, the last time: %v", e.Runner, e.Failures, e.Last)
}

func (e *GaveUpError) Unwrap() error { return e.Last }

// Supervise makes one runner of an election's children. All start with the term, and
// all have returned when its Run returns. Without children it waits for the end of the
// term: leadership itself is the product.
//
// A child that returns or panics while the term lasts is run again after a growing wait
// (Restart). When one keeps failing, all are stopped and Run returns a *GaveUpError:
// the manager then releases the lock and the member stands down. When its context is
// cancelled Run returns nil, whatever the children had to say about it is logged.
func Supervise(children []Child, s Supervision) election.Runner {
	env := Env{Clock: s.Clock, Log: s.Log}.Defaults()
	s.Clock, s.Log = env.Clock, env.Log
	s.Restart = s.Restart.defaults()
	if s.Random == nil {
		s.Random = rand.Float64
	}
	return &supervisor{Supervision: s, children: slices.Clone(children)}
}

type supervisor struct {
	Supervision
	children []Child
}

// end is a child's last word in a term.
type end struct {
	child string
	err   error
}

// Run runs all children until ctx is cancelled or one of them is given up.
func (s *supervisor) Run(ctx context.Context, term election.Term) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	ends := make(chan end)
	running := make([]string, 0, len(s.children))
	for _, c := range s.children {
		running = append(running, c.Name)
		go func() { ends <- end{c.Name, s.keep(ctx, term, c)} }()
	}
	if len(running) == 0 {
		<-ctx.Done()
		return nil
	}

	var failed []error
	var late <-chan time.Time // fires when the work must be dead
	stopped := ctx.Done()
	for len(running) > 0 {
		select {
		case e := <-ends:
			at := slices.Index(running, e.child)
			running = slices.Delete(running, at, at+1)
			if e.err != nil {
				failed = append(failed, e.err)
				deadline, _ := term.Deadline()
				cancel(&election.Stop{Reason: e.err.Error(), By: deadline})
			}
		case <-stopped:
			stopped = nil
			timer := time.NewTimer(max(0, clock.Until(s.Clock, stopBy(ctx, term))))
			defer timer.Stop()
			late = timer.C
		case <-late:
			late = nil
			s.Log.Error("runners are at work after the instant by which they must have stopped",
				zap.String("election", term.Election), zap.Strings("runners", running))
		}
	}
	return errors.Join(failed...)
}

// stopBy is the instant by which a cancelled runner must have stopped.
func stopBy(ctx context.Context, term election.Term) record.Instant {
	if stop, ok := election.StopOf(ctx); ok {
		return stop.By
	}
	deadline, _ := term.Deadline()
	return deadline
}

// keep runs a child again and again until ctx ends, when it returns nil, or until it is
// given up.
func (s *supervisor) keep(ctx context.Context, term election.Term, c Child) error {
	log := Log(s.Log, term, c.Name)
	failures := 0
	for s.valid(ctx, term) {
		began := s.Clock.Now()
		err := s.attempt(ctx, term, c, log)
		if ctx.Err() != nil {
			if err != nil && !errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)) {
				log.Warn("runner stopped with an error", zap.Error(err))
			}
			return nil
		}
		var gaveUp *GaveUpError
		if errors.As(err, &gaveUp) {
			return gaveUp // it was given its attempts already
		}
		ran := s.Clock.Now().Sub(began)
		if ran > s.Restart.Healthy {
			failures = 0
		}
		if !errors.Is(err, ErrDeadline) {
			failures++
		}
		if failures >= s.Restart.Failures {
			return &GaveUpError{Runner: c.Name, Failures: failures, Last: err}
		}
		wait := s.Restart.wait(failures, s.Random())
		log.Warn("runner ended before its term; it is started again",
			zap.Error(err), zap.Duration("ran", ran), zap.Int("failures", failures),
			zap.Int("givesUpAfter", s.Restart.Failures), zap.Duration("wait", wait))
		pause(ctx, wait)
	}
	return nil
}

// valid waits until the term's deadline lies ahead, since nothing may start after it;
// false when ctx ends first.
func (s *supervisor) valid(ctx context.Context, term election.Term) bool {
	for ctx.Err() == nil {
		deadline, extended := term.Deadline()
		if s.Clock.Now() < deadline {
			return true
		}
		select {
		case <-ctx.Done():
		case <-extended:
		}
	}
	return false
}

var (
	errReturned = errors.New("it returned before its term ended")
	errGoexit   = errors.New("it ended its goroutine (runtime.Goexit)")
)

// attempt runs a child once. A panic becomes an error, its stack is logged.
func (s *supervisor) attempt(ctx context.Context, term election.Term, c Child, log *zap.Logger) error {
	done := make(chan error, 1)
	go func() {
		err := errGoexit // stands when Run neither returns nor panics
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("it panicked: %v", v)
				log.Error("runner panicked", zap.String("panic", fmt.Sprint(v)), zap.Stack("stack"))
			}
			done <- err
		}()
		if err = c.Runner.Run(ctx, term); err == nil && ctx.Err() == nil {
			err = errReturned
		}
	}()
	return <-done
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
