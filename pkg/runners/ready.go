package runners

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// AskEvery is how often we ask a ReadyFunc, and how long it may take to answer. A runner whose
// answer takes longer is not ready; we ask again only once the function has returned.
const AskEvery = 5 * time.Second

var errNoAnswer = fmt.Errorf("no answer within %v", AskEvery)

// ReadyFunc returns why a runner could not work during a term, or nil if it could.
type ReadyFunc func(ctx context.Context) error

// Asked makes a runner that also implements election.Readiness. For as long as its member takes part
// in the election, it asks ready whether run could work during a term.
func Asked(run election.RunnerFunc, ready ReadyFunc) election.Runner { return asked{run, ready} }

type asked struct {
	election.RunnerFunc
	ready ReadyFunc
}

// Readiness implements election.Readiness. It asks until ctx ends.
func (a asked) Readiness(ctx context.Context, report func(error)) error {
	for ctx.Err() == nil {
		a.ask(ctx, report)
		clock.Wait(ctx, AskEvery)
	}
	return nil
}

// ask calls ready once and reports the answer, or, after a time-out, that there was none. It returns
// only when ready has returned. The Manager, when it ends, waits for that only for a bounded time.
func (a asked) ask(ctx context.Context, report func(error)) {
	answer, cancel := context.WithTimeout(ctx, AskEvery)
	defer cancel()
	var problem error
	over := make(chan struct{})
	go func() { // joined below
		defer close(over)
		problem = guarded(zap.NewNop(), func() error { return a.ready(answer) })
	}()
	select {
	case <-over:
	case <-answer.Done():
	}
	switch {
	case ctx.Err() != nil:
	case answer.Err() != nil:
		report(errNoAnswer)
	default:
		report(problem)
	}
	<-over
}

// readySupervisor supervises children of which some implement election.Readiness.
type readySupervisor struct{ *supervisor }

// Readiness reports for all children together: if one is not ready, the election is not.
func (s readySupervisor) Readiness(ctx context.Context, report func(error)) error {
	type news struct {
		at      int
		problem error
	}
	reports := make(chan news)
	over := make(chan struct{})
	problems := map[int]error{}
	var wg sync.WaitGroup
	for at, w := range s.workers {
		r, tells := w.Runner.(election.Readiness)
		if !tells {
			continue
		}
		problems[at] = errors.New("has not reported yet")
		wg.Go(func() {
			err := r.Readiness(ctx, func(problem error) { reports <- news{at, problem} })
			if err != nil {
				s.Log.Warn("runner stopped reporting its readiness; its last report stands", zap.String("runner", w.Name), zap.Error(err))
			}
		})
	}
	go func() { // joined by the receive from over
		wg.Wait()
		close(over)
	}()
	for {
		select {
		case n := <-reports:
			problems[n.at] = n.problem
			report(s.first(problems))
		case <-over:
			return nil
		}
	}
}

// first returns the problem of the first child that has one.
func (s readySupervisor) first(problems map[int]error) error {
	for at, w := range s.workers {
		if p := problems[at]; p != nil {
			return fmt.Errorf("runner %s: %w", w.Name, p)
		}
	}
	return nil
}
