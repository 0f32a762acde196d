package runners

import (
	"context"
	"math/rand/v2"
	"slices"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Supervision says how children are kept running. The zero Supervision works.
type Supervision struct {
	Restart Restart
	// Clock measures how long a run lasts; nil means the real one.
	Clock clock.Clock
	// Log takes failures and restarts; nil for none.
	Log *zap.Logger
	// Random yields numbers in [0, 1) for the jitter; nil means those of math/rand.
	Random func() float64
	// Figures counts what this supervision runs; each supervision needs its own. Nil for none.
	Figures *Figures
}

// defaults returns s with defaults for its nil fields.
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
// Children start in order: after an Announcer the next one starts when the Announcer is up, after any
// other child at once. They stop in reverse order, all within one stopGrace: each is told to stop
// when the children after it have returned. If k other children still wait to be told, a slow child
// may hold them up for at most 1/(k+1) of the time that is left. All have returned when Run returns.
//
// OnExit says what follows when a child returns or panics during the term, or is not up within
// UpWithin. The term is lost in three cases: a child keeps failing, a child with ExitRelease ends, or
// a child with ExitStop ends before it was up. Run then stops all children and returns a
// *GaveUpError. If every child was done (ExitStop), Run returns ErrAllEnded. After either error the
// manager releases the lock, and the member stands down. When its context is cancelled Run returns
// nil, and logs the children's errors. The runner is contained if all children are
// (election.Contained).
func Supervise(children []Child, s Supervision) election.Runner {
	s = s.defaults()
	made := &supervisor{Supervision: s}
	for _, c := range children {
		w := worker{Child: c, counter: s.Figures.of(c)}
		w.runs = w.counter
		if a, is := c.Runner.(*always); is {
			a.counter = w.counter // a counts the runs of its work; nobody reads w.runs, which counts its terms
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
	// runs counts the runs in the term. Work that always runs counts its own runs in counter.
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
