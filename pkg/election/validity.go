package election

import (
	"context"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// ValidTerm is a term of this member that was valid when it was asked for. It does not
// change: once the term is extended, Status.ValidTerm is another one.
type ValidTerm struct {
	Token record.Token
	// Deadline is when the validity ends unless it is extended, on CLOCK_BOOTTIME.
	Deadline record.Instant

	life *life
}

// Context ends when the term begins to stop, and at its deadline unless it is extended
// before that. Its cause is the *Stop.
func (v *ValidTerm) Context() context.Context {
	v.life.watch.Do(v.life.watchDeadline)
	return v.life.ctx
}

// ValidTerm is the term that is valid at this moment, or nil while there is none: before
// a term, after its deadline, and from the moment it begins to stop, which is before its
// work is told to and long before the lock is released. Asking costs one atomic load and
// one reading of the clock.
func (s *Status) ValidTerm() *ValidTerm {
	v := s.valid.Load()
	if v == nil || s.clock.Now() >= v.Deadline {
		return nil
	}
	return v
}

// Valid is the term t while it is valid, or nil: also when a later term of this member
// is. It is nil for a Term that no Manager began.
func (t Term) Valid() *ValidTerm {
	if t.status == nil {
		return nil
	}
	if v := t.status.ValidTerm(); v != nil && v.Token == t.Token {
		return v
	}
	return nil
}

// life is what all that is published of one term has in common.
type life struct {
	status *Status
	ctx    context.Context
	cancel context.CancelCauseFunc
	// watch is done when somebody wants to know of the deadline; without, it costs nothing.
	watch sync.Once

	mu    sync.Mutex
	timer *time.Timer
}

func newLife(s *Status) *life {
	l := &life{status: s}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l
}

func (l *life) watchDeadline() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(0, l.keep) // it finds out how long there is left
	context.AfterFunc(l.ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timer.Stop()
	})
}

// keep ends the life at its deadline, even if the driver is held up.
func (l *life) keep() {
	s := l.status
	s.validMu.Lock()
	defer s.validMu.Unlock()
	v := s.valid.Load()
	if v == nil || v.life != l {
		return // whoever ended it said why
	}
	if left := clock.Until(s.clock, v.Deadline); left > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timer.Reset(left)
		return
	}
	l.cancel(&Stop{Reason: string(machine.ReasonExpired), By: v.Deadline})
}

// begin publishes that a term is on.
func (s *Status) begin(token record.Token, deadline record.Instant) {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	s.token.Store(uint64(token))
	s.valid.Store(&ValidTerm{Token: token, Deadline: deadline, life: newLife(s)})
}

// extend publishes another deadline of the present term. One that ended stays so: the
// driver may not know yet that its work was stopped.
func (s *Status) extend(deadline record.Instant) {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	v := s.valid.Load()
	if v == nil || v.Deadline == deadline {
		return
	}
	l := v.life
	if l.ctx.Err() != nil {
		l = newLife(s) // extended at the very deadline: what was under way was cut, what comes is not
	}
	s.valid.Store(&ValidTerm{Token: v.Token, Deadline: deadline, life: l})
}

// end publishes that the term is over. It is called before anybody is told to stop.
func (s *Status) end(token record.Token, why *Stop) {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	v := s.valid.Load()
	if v == nil || v.Token != token {
		return
	}
	s.valid.Store(nil)
	v.life.cancel(why)
}
