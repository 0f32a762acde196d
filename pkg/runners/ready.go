package runners

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
)

// AskEvery is how often a ReadyFunc is asked, and how long it may take to answer.
const AskEvery = 5 * time.Second

// ReadyFunc says why a runner could not work during a term; nil for that it could.
type ReadyFunc func(ctx context.Context) error

// Asked is a runner of which ready is asked, for as long as its election is taken part in,
// whether it could work during a term: see election.Readiness.
func Asked(run election.RunnerFunc, ready ReadyFunc) election.Runner { return asked{run, ready} }

type asked struct {
	election.RunnerFunc
	ready ReadyFunc
}

// Readiness asks until ctx ends.
func (a asked) Readiness(ctx context.Context, report func(error)) error {
	for ctx.Err() == nil {
		answer, cancel := context.WithTimeout(ctx, AskEvery)
		err := guarded(zap.NewNop(), func() error { return a.ready(answer) })
		cancel()
		if ctx.Err() == nil {
			report(err)
		}
		pause(ctx, AskEvery)
	}
	return nil
}

// readySupervisor supervises children of which some can tell whether they are ready.
type readySupervisor struct{ *supervisor }

// Readiness is that of all children: one that is not ready is enough.
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
		problems[at] = errors.New("has not said anything yet")
		wg.Go(func() {
			err := r.Readiness(ctx, func(problem error) { reports <- news{at, problem} })
			if err != nil {
				s.Log.Warn("runner says no more whether it is ready", zap.String("runner", w.Name), zap.Error(err))
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

// first is the problem of the first child that has one.
func (s readySupervisor) first(problems map[int]error) error {
	for at, w := range s.workers {
		if p := problems[at]; p != nil {
			return fmt.Errorf("runner %s: %w", w.Name, p)
		}
	}
	return nil
}
