package election

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/internal/bounded"
)

// Readiness is an interface that a Runner also implements if it knows before a term whether it could
// work.
//
// If a runner is not ready, its member says so in its session, as for a runner that failed lately:
// no holder hands over to the member, the member claims nothing from a living foreign holder, and
// among equals others come first. It may still take a free lock, and a term that is on goes on.
type Readiness interface {
	// Readiness reports, at first and at every change, why the runner could not work in a
	// term; nil means that it could. Before the first report the runner is not ready; once
	// Readiness has returned, its last report stands. The Manager calls it once, when it runs
	// and the election was added. It cancels ctx once the election's lock is released, and
	// Readiness must return soon after. Run waits at most the election's stopGrace for that;
	// then it logs that it leaves the goroutine behind, and ignores its reports. Readiness must
	// call report only from the goroutine on which it was called.
	Readiness(ctx context.Context, report func(problem error)) error
}

var errNotAsked = errors.New("it has not reported yet")

// followReadiness takes the runner's reports until ctx ends. If the runner does not return
// within the grace after that, followReadiness leaves it behind: it does no work, and must not
// keep Run from returning.
func (m *Manager) followReadiness(ctx context.Context, e *entrant, runner Readiness) {
	log := m.cfg.Log.With(zap.String("election", e.spec.Name))
	last := errNotAsked
	report := func(problem error) {
		if ctx.Err() != nil || text(problem) == text(last) {
			return
		}
		was := last
		last = problem
		switch {
		case problem == nil:
			log.Info("runner is ready for a term")
		case was == nil || was == errNotAsked:
			log.Warn("runner is not ready for a term", zap.Error(problem))
		default:
			log.Debug("runner is still not ready for a term", zap.Error(problem))
		}
		e.status.problem.Store(&problem)
		select {
		case m.readiness <- struct{}{}:
		default:
		}
	}
	grace := e.spec.Timing.StopGrace
	switch err := bounded.Call(ctx, grace, func() error { return runner.Readiness(ctx, report) }); {
	case errors.Is(err, bounded.ErrLeft):
		log.Error("runner's Readiness did not return after its context ended; its goroutine is left behind (make Readiness return when its context ends)",
			zap.Duration("grace", grace))
	case err != nil:
		log.Warn("runner stopped reporting its readiness; its last report stands", zap.Error(err))
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
