package runners

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// keep runs a worker again and again. It returns nil when the worker has ended after the stop began,
// or is done for this term. An error costs the term.
func (c *crew) keep(h *hand) error {
	log := Log(c.Log, c.term, h.Name)
	failures := 0
	for c.valid(c.lasts) {
		began := c.Clock.Now()
		err := c.attempt(h, log)
		if c.lasts.Err() != nil {
			if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.Cause(h.ctx)) {
				log.Warn("runner stopped with an error", zap.Error(err))
			}
			return nil
		}
		var gaveUp *GaveUpError
		if errors.As(err, &gaveUp) {
			return gaveUp // it has had all its attempts
		}
		h.runs.failed(err)
		ran := c.Clock.Now().Sub(began)
		never := errors.Is(err, errNotUp) || errors.Is(err, ErrSlowStart) // this run has not been up
		if ran > c.Restart.Healthy && !never {
			failures = 0
		}
		if !errors.Is(err, ErrDeadline) {
			if h.OnExit == ExitStop && h.isUp() && !never {
				log.Info("runner has ended for this term", zap.Error(err), zap.Duration("ran", ran))
				return nil
			}
			failures++
		}
		switch {
		case failures == 0:
		case h.OnExit == ExitStop:
			return &GaveUpError{Runner: h.Name, Failures: 1, Last: fmt.Errorf("%w: %w", errNotReady, err)}
		case h.OnExit == ExitRelease:
			return &GaveUpError{Runner: h.Name, Failures: 1, Last: err}
		case failures >= c.Restart.Failures:
			return &GaveUpError{Runner: h.Name, Failures: failures, Last: err}
		}
		wait := c.Restart.wait(failures, c.Random())
		log.Warn("runner ended before its term; it is started again",
			zap.Error(err), zap.Duration("ran", ran), zap.Int("failures", failures),
			zap.Int("givesUpAfter", c.Restart.Failures), zap.Duration("wait", wait))
		h.runs.waits(wait)
		if clock.Wait(c.lasts, wait) {
			h.runs.restarted()
		}
		h.runs.waits(0)
	}
	return nil
}

// valid waits until the term's deadline lies ahead, since nothing may start after it. It returns
// false if ctx ends first.
func (c *crew) valid(ctx context.Context) bool {
	for ctx.Err() == nil {
		deadline, extended := c.term.Deadline()
		if c.Clock.Now() < deadline {
			return true
		}
		select {
		case <-ctx.Done():
		case <-extended:
		}
	}
	return false
}

// attempt runs a worker once.
func (c *crew) attempt(h *hand, log *zap.Logger) error {
	h.runs.started()
	defer h.runs.ended()
	var err error
	if a, tells := h.Runner.(Announcer); tells {
		err = c.announced(h, a, log)
	} else {
		err = guarded(log, func() error { return h.Runner.Run(h.ctx, c.term) })
	}
	if err == nil && c.lasts.Err() == nil {
		err = errReturned
	}
	return err
}

// guarded calls f. It turns a panic into an error, and logs the stack.
func guarded(log *zap.Logger, f func() error) error {
	done := make(chan error, 1)
	go func() { // joined by the receive from done
		err := election.ErrGoexit // if f neither returns nor panics
		defer func() {
			if v := recover(); v != nil {
				err = &panicError{v}
				log.Error("runner panicked", zap.String("panic", fmt.Sprint(v)), zap.Stack("stack"))
			}
			done <- err
		}()
		err = f()
	}()
	return <-done
}
