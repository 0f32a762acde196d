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

// UpWithin is how long a run of an Announcer may take to be up. A run that takes longer has failed,
// and is ended.
const UpWithin = time.Minute

// Announcer is a second, optional interface of a runner: its runs report when they are up. The
// next runner in the election's list starts only then. After a runner that is no Announcer, the
// next one starts at once.
type Announcer interface {
	election.Runner
	// RunAnnounced is Run, and calls up when the work is up: once, from any goroutine, within
	// UpWithin and before it returns.
	RunAnnounced(ctx context.Context, term election.Term, up func()) error
}

// AnnouncedFunc makes an Announcer of a function.
type AnnouncedFunc func(ctx context.Context, term election.Term, up func()) error

// Run calls f.
func (f AnnouncedFunc) Run(ctx context.Context, term election.Term) error {
	return f(ctx, term, func() {})
}

// RunAnnounced calls f.
func (f AnnouncedFunc) RunAnnounced(ctx context.Context, term election.Term, up func()) error {
	return f(ctx, term, up)
}

var errNotUp = fmt.Errorf("it was not up within %v", UpWithin)

// announced runs the Announcer once, and ends the run if it is not up in time. If the run does not
// end within the same time again, the term is given up: nobody may hold the lock for work that
// neither begins nor ends.
func (c *crew) announced(h *hand, a Announcer, log *zap.Logger) error {
	ctx, cancel := context.WithCancelCause(h.ctx)
	defer cancel(nil)
	up := make(chan struct{})
	var decided sync.Once // the first to call it decides: the run is up, or it is late
	over := make(chan error, 1)
	go func() { // joined by the receive from over
		over <- guarded(log, func() error {
			return a.RunAnnounced(ctx, c.term, func() { decided.Do(func() { h.announce(); close(up) }) })
		})
	}()
	timer := clock.NewTimer(UpWithin)
	defer timer.Stop()
	select {
	case err := <-over:
		return err
	case <-c.lasts.Done():
		return <-over
	case <-up:
		return <-over
	case <-timer.C:
	}
	late := false
	decided.Do(func() { late = true })
	if !late {
		return <-over
	}
	deadline, _ := c.term.Deadline()
	cancel(&election.Stop{Reason: errNotUp.Error(), By: deadline})
	timer.Reset(UpWithin)
	select {
	case err := <-over:
		if err == nil || errors.Is(err, context.Canceled) {
			return errNotUp
		}
		return fmt.Errorf("%w: %w", errNotUp, err)
	case <-c.lasts.Done():
	case <-timer.C:
		failed := &GaveUpError{Runner: h.Name, Failures: 1, Last: errNotUp}
		c.events <- func() { c.failed = append(c.failed, failed) }
	}
	return <-over
}
