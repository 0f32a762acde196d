package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// ReasonDisabled is why a member leads an election that is disabled.
const ReasonDisabled Reason = "election disabled"

// errWithdrawn: the election was given up while the Manager runs on.
type errWithdrawn struct{ why machine.Reason }

func (e errWithdrawn) Error() string { return string(e.why) }

// solo does the work of a disabled election, one term after another, across all incarnations. The
// goroutine of run owns it.
type solo struct {
	cfg      *Config
	entrant  *entrant
	identity string
	log      *zap.Logger
	failures int
	// work joins the runner.
	work sync.WaitGroup
}

func (m *Manager) beginDisabledLocked(e *entrant) {
	ctx, withdraw := context.WithCancelCause(m.free)
	e.withdraw = withdraw
	m.background.Go(func() {
		defer withdraw(nil)
		defer m.forget(e)
		identity := newIdentity(m.cfg.Host)
		s := &solo{cfg: &m.cfg, entrant: e, identity: identity, log: m.cfg.Log.With(
			zap.String("identity", identity), zap.String("revision", m.cfg.Member.Revision), zap.String("election", e.spec.Name))}
		s.run(ctx)
	})
}

// run works until ctx ends, and returns once the work has stopped.
func (s *solo) run(ctx context.Context) {
	t := s.entrant.spec.Timing
	for ctx.Err() == nil {
		began := s.cfg.Clock.Now()
		err := s.term(ctx)
		if ctx.Err() != nil {
			if err != nil {
				s.log.Warn("runner stopped with an error", zap.Error(err))
			}
			return
		}
		if s.cfg.Clock.Now().Sub(began) > 2*record.Doubled(t.StandDown, s.failures) {
			s.failures = 0
		}
		// Wait as long as a member that stands down and is alone in its election.
		pause := min(record.Doubled(t.StandDown, s.failures), record.Doubled(max(2*t.NominateDelay, time.Second), s.failures))
		s.failures++
		if panicked, is := errors.AsType[*member.PanicError](err); is {
			s.log.Error("runner panicked", zap.String("panic", fmt.Sprint(panicked.Value)), zap.String("stack", panicked.Stack))
		}
		s.log.Warn("runner returned though its election is disabled; it is started again", zap.Error(err), zap.Duration("wait", pause))
		if !clock.Wait(ctx, pause) {
			return
		}
	}
}

// term works until the runner returns. It tells the runner to stop when ctx ends.
func (s *solo) term(ctx context.Context) error {
	e, timing := s.entrant, s.entrant.spec.Timing
	cycle := int(e.status.cycle.Inc())
	deadline := s.deadline()
	e.status.begin(0, deadline)
	e.status.see(Leader{Identity: s.identity, Revision: s.cfg.Member.Revision, Location: s.cfg.Member.Location})
	s.report(machine.Leading, ReasonDisabled)

	returned := make(chan error, 1)
	var w *work
	if e.runner != nil {
		term := Term{Election: e.spec.Name, Identity: s.identity, Revision: s.cfg.Member.Revision, Cycle: cycle, status: e.status}
		w = begin(ctx, s.cfg.Clock, e.runner, term, deadline, timing.StopGrace, aborter{s.cfg.Abort, s.cfg.Log}, &s.work, func(err error, _ bool) { returned <- err })
		e.work.Store(w)
		defer s.work.Wait()
	}
	extend := clock.NewTimer(timing.RenewInterval)
	defer extend.Stop()
	done := ctx.Done()
	for {
		select {
		case <-extend.C:
			extend.Reset(timing.RenewInterval)
			deadline := s.deadline()
			e.status.extend(deadline)
			if w != nil {
				w.extend(deadline)
			}
		case <-done:
			done = nil
			stop := Stop{Reason: string(stopReason(ctx)), By: s.cfg.Clock.Now().Add(timing.StopGrace), kept: true}
			if w == nil {
				returned <- nil
			} else {
				w.end(stop) // before the report: a log may hold us up
			}
			e.status.end(0, stop)
			s.report(machine.Draining, stopReason(ctx))
		case err := <-returned:
			if done != nil {
				e.status.end(0, Stop{Reason: string(machine.ReasonFailed), By: s.cfg.Clock.Now()})
				s.report(machine.Draining, machine.ReasonFailed)
			}
			e.status.see(Leader{})
			s.report(machine.Following, machine.ReasonNotHeld)
			return err
		}
	}
}

// deadline is when the work must be dead if this process is never heard of again: the deadline that a
// renewal sent now would give.
func (s *solo) deadline() record.Instant {
	return s.cfg.Clock.Now().Add(s.entrant.spec.Timing.Validity())
}

func stopReason(ctx context.Context) machine.Reason {
	if withdrawn, is := errors.AsType[errWithdrawn](context.Cause(ctx)); is {
		return withdrawn.why
	}
	return machine.ReasonShutdown
}

func (s *solo) report(role machine.Role, reason machine.Reason) {
	s.log.Info(role.String(), zap.String("reason", string(reason)))
	st := s.entrant.status
	st.become(role, reason)
	st.publish(Transition{At: s.cfg.Clock.Wall(), Event: EventRole, Role: role, Reason: reason, Cycle: st.Cycle()})
}
