package runners

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Always turns work that runs on every member into an election's runner. The work starts with the
// Manager's Run and learns of each term. The lock is released only when the work has stopped working
// for the term (Terms.Each), or has returned. If it does neither within stopGrace, the process ends,
// as with any other runner.
//
// The loss of a term never ends the work. When the work returns or panics, it is started again after
// a growing wait, for as long as the Manager runs; the new run learns of the present term. If the
// work keeps failing during a term (Restart.Failures in a row), the term is given up.
func Always(name string, a election.AlwaysRunner, s Supervision) election.Runner {
	s = s.defaults()
	s.Log = s.Log.With(zap.String("runner", name))
	return &always{
		Supervision: s, name: name, work: a, terms: election.NewTerms(), failing: make(chan *GaveUpError, 1),
		counter: s.Figures.of(Child{Name: name}),
	}
}

type always struct {
	Supervision
	name  string
	work  election.AlwaysRunner
	terms *election.Terms
	// failing reports that the work fails again and again.
	failing chan *GaveUpError
	// counter counts the work's runs; Supervise sets it.
	counter *counter
}

var _ election.Background = (*always)(nil)

// Run tells the work of the term, and returns when the work has stopped working for it.
func (a *always) Run(ctx context.Context, term election.Term) error {
	select {
	case <-a.failing: // from before this term
	default:
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan struct{})
	go func() { // joined below
		defer close(over)
		a.terms.Lead(ctx, term)
	}()
	select {
	case <-over:
		return nil
	case failed := <-a.failing:
		if !term.GiveUp(failed.Error()) { // nobody keeps the term
			deadline, _ := term.Deadline()
			cancel(&election.Stop{Reason: failed.Error(), By: deadline})
		}
		<-over
		return failed
	}
}

// Background keeps the work running until ctx ends.
func (a *always) Background(ctx context.Context) error {
	for failures := 0; ctx.Err() == nil; {
		began := a.Clock.Now()
		err := a.attempt(ctx)
		a.terms.Returned()
		if ctx.Err() != nil {
			if err != nil && !errors.Is(err, ctx.Err()) {
				a.Log.Warn("runner stopped with an error", zap.Error(err))
			}
			return nil
		}
		a.counter.failed(err)
		if a.Clock.Now().Sub(began) > a.Restart.Healthy {
			failures = 0
		}
		failures++
		if failures >= a.Restart.Failures {
			select {
			case a.failing <- &GaveUpError{Runner: a.name, Failures: failures, Last: err}:
			default: // already reported
			}
		}
		wait := a.Restart.wait(failures, a.Random())
		a.Log.Warn("runner ended, though it should always run; it is started again",
			zap.Error(err), zap.Int("failures", failures), zap.Duration("wait", wait))
		a.counter.waits(wait)
		if clock.Wait(ctx, wait) {
			a.counter.restarted()
		}
		a.counter.waits(0)
	}
	return nil
}

// attempt runs the work once.
func (a *always) attempt(ctx context.Context) error {
	a.counter.started()
	defer a.counter.ended()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // what it left at work must end
	return guarded(a.Log, func() error {
		err := a.work.RunAlways(ctx, a.terms)
		if err == nil && ctx.Err() == nil {
			err = errAlwaysReturned
		}
		return err
	})
}

var errAlwaysReturned = fmt.Errorf("it should always run: %w", errReturned)

// Background runs the part of the children's work that outlives terms.
func (s *supervisor) Background(ctx context.Context) error {
	ends := make(chan error)
	n := 0
	for _, w := range s.workers {
		if b, ok := w.Runner.(election.Background); ok {
			n++
			go func() { ends <- b.Background(ctx) }() // joined below
		}
	}
	var errs []error
	for range n {
		errs = append(errs, <-ends)
	}
	return errors.Join(errs...)
}
