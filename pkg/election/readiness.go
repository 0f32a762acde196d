package election

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Readiness is what a Runner may be as well: it knows beforehand whether a term would find it
// able to work.
//
// A member whose runner is not ready says so in its session, as it does of one that failed
// lately: no holder drains for it, it claims nothing from a living foreign holder, and among
// equals others come first. It is never kept from a free lock, and a term that is on is not
// touched.
type Readiness interface {
	// Readiness tells report at first, and whenever it changes, why a term could not be
	// worked; nil for that it could. Until the first report it is not ready; once Readiness
	// has returned, the last one stands. It is called once, when the Manager runs and the
	// election was added, and returns soon after ctx was cancelled: when the election's lock
	// was let go. Run waits for it no longer than the election's stopGrace; then it logs that it
	// leaves it behind, and hears no report of it any more. Readiness calls report from its own
	// goroutine's stack only.
	Readiness(ctx context.Context, report func(problem error)) error
}

var errNotAsked = errors.New("it has not said anything yet")

// followReadiness has the runner report until ctx ends. A runner that does not return within
// the grace after that is left behind: it does no work, and must not keep Run from returning.
func (m *Manager) followReadiness(ctx context.Context, e *entrant, runner Readiness) {
	log := m.cfg.Log.With(zap.String("election", e.spec.Name))
	last := errNotAsked
	report := func(problem error) {
		if ctx.Err() != nil || text(problem) == text(last) {
			return
		}
		if last = problem; problem != nil {
			log.Warn("runner is not ready for a term", zap.Error(problem))
		} else {
			log.Info("runner is ready for a term")
		}
		e.unready.Store(problem != nil)
		select {
		case m.readiness <- struct{}{}:
		default:
		}
	}
	over := make(chan error, 1)
	go func() { over <- runner.Readiness(ctx, report) }() // joined below, for as long as the grace
	var late <-chan struct{}
	for quit := ctx.Done(); ; {
		select {
		case err := <-over:
			if err != nil {
				log.Warn("runner says no more whether it is ready", zap.Error(err))
			}
			return
		case <-quit:
			quit = nil
			grace := clock.NewTimer(e.spec.Timing.StopGrace)
			defer grace.Stop()
			late = grace.C
		case <-late:
			log.Error("runner was asked whether it is ready and does not answer; its goroutine is left behind (let it return when its context ends)",
				zap.Duration("grace", e.spec.Timing.StopGrace))
			return
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
