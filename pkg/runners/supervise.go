package runners

import (
	"context"
	"math/rand/v2"
	"slices"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
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
	// Figures take what is counted; nil means nowhere. They are those of one supervision.
	Figures *Figures
}

// defaults is s with what was left nil filled in.
func (s Supervision) defaults() Supervision {
	env := Env{Clock: s.Clock, Log: s.Log}.Defaults()
	s.Clock, s.Log = env.Clock, env.Log
	s.Restart = s.Restart.defaults()
	if s.Random == nil {
		s.Random = rand.Float64
	}
	if s.Figures == nil {
		s.Figures = NewFigures("")
	}
	return s
}

// Supervise makes one runner of an election's children. Without children it waits for the
// end of the term: leadership itself is the product.
//
// Children start in their order: each when the one before it is up, if that can tell
// (Announcer), else when that was started. They stop in the reverse order, each once those
// after it have returned, within the one stopGrace: who shares it with k others that are not
// told yet has at most one part in k+1 of what is left of it before the next is told all the
// same. All have returned when Run returns.
//
// What follows when a child returns or panics while the term lasts, or is not up within
// UpWithin, is its OnExit. A child
// that keeps failing, one with ExitRelease that ends, and one with ExitStop that ends before it was
// up, cost the term: all are stopped, and Run returns a *GaveUpError; where all were done it
// returns ErrAllEnded. The manager then releases the lock and the member stands down. When
// its context is cancelled Run returns nil, whatever the children had to say about it is
// logged. It is contained if all children are (election.Contained).
func Supervise(children []Child, s Supervision) election.Runner {
	s = s.defaults()
	made := &supervisor{Supervision: s}
	for _, c := range children {
		w := worker{Child: c, counter: s.Figures.of(c)}
		w.runs = w.counter
		if a, is := c.Runner.(*always); is {
			a.counter = w.counter // its runs are no terms
			w.runs = NewFigures("").of(c)
		}
		made.workers = append(made.workers, w)
	}
	for _, c := range children {
		if _, tells := c.Runner.(election.Readiness); tells {
			return readySupervisor{made}
		}
	}
	return made
}

type supervisor struct {
	Supervision
	workers []worker
}

// Contained implements election.Contained.
func (s *supervisor) Contained() bool {
	return !slices.ContainsFunc(s.workers, func(w worker) bool {
		r, is := w.Runner.(election.Contained)
		return !is || !r.Contained()
	})
}

// worker is a child under supervision.
type worker struct {
	Child
	*counter
	// runs is where its runs are counted as well: by itself, if it is one that always runs.
	runs *counter
}

// Run runs all children until ctx is cancelled or the term is given up.
func (s *supervisor) Run(ctx context.Context, term election.Term) error {
	if len(s.workers) == 0 {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return nil
	}
	c := crew{supervisor: s, ctx: ctx, term: term, events: make(chan func())}
	return c.work()
}
