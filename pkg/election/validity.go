package election

import (
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// ValidTerm is a term of this member that was valid when it was asked for. It does not
// change: once the term is extended, Status.ValidTerm is another one.
type ValidTerm struct {
	Token record.Token
	// Deadline is when the validity ends unless it is extended, on CLOCK_BOOTTIME.
	Deadline record.Instant

	life *life
	// reach is what the term goes by; nil where it is extended by itself. jeopardy is how long after a
	// beat it is in jeopardy without another one.
	reach    *reach
	jeopardy time.Duration
}

// until is until when the term is valid by now.
func (v *ValidTerm) until() record.Instant {
	if v.reach != nil {
		return v.reach.deadline()
	}
	return v.Deadline
}

// OnEnd has f called once when the term begins to stop, or at its deadline unless it is
// extended before that; at once if that has happened. f is called before the work is told
// to stop, by whoever ends the term, so it must not block. forget makes that f is not
// called any more, though it may be under way.
func (v *ValidTerm) OnEnd(f func(Stop)) (forget func()) { return v.life.onEnd(f) }

// ValidTerm is the term that is valid at this moment, or nil while there is none: before
// a term, after its deadline, and from the moment it begins to stop, which is before its
// work is told to and long before the lock is released. Asking costs two atomic loads and
// one reading of the clock, and the first time after a beat one allocation.
func (s *Status) ValidTerm() *ValidTerm {
	v := s.valid.Load()
	if v != nil && v.until() != v.Deadline {
		v = s.renewed()
	}
	if v == nil || s.clock.Now() >= v.Deadline {
		return nil
	}
	return v
}

// renewed is the present term with the deadline that the last beat gave it.
func (s *Status) renewed() *ValidTerm {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	if v := s.valid.Load(); v != nil {
		s.extendLocked(v, ValidTerm{Deadline: v.until(), reach: v.reach, jeopardy: v.jeopardy})
	}
	return s.valid.Load()
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

	mu      sync.Mutex
	ended   *Stop // nil until then
	waiting map[int]func(Stop)
	waited  int
	// timer watches the deadline from when somebody wants to know; before, it costs nothing.
	timer *clock.Timer
}

func (l *life) onEnd(f func(Stop)) (forget func()) {
	l.mu.Lock()
	if l.ended != nil {
		l.mu.Unlock()
		f(*l.ended)
		return func() {}
	}
	defer l.mu.Unlock()
	if l.timer == nil {
		l.waiting = map[int]func(Stop){}
		l.timer = clock.AfterFunc(0, l.keep) // it finds out how long there is left
	}
	l.waited++
	n := l.waited
	l.waiting[n] = f
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, n)
	}
}

func (l *life) end(why Stop) {
	l.mu.Lock()
	if l.ended != nil {
		l.mu.Unlock()
		return
	}
	l.ended = &why
	waiting := l.waiting
	l.waiting = nil
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	for _, f := range waiting {
		f(why)
	}
}

func (l *life) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended != nil
}

// keep ends the life at its deadline, even if the host is held up.
func (l *life) keep() {
	s := l.status
	s.validMu.Lock()
	defer s.validMu.Unlock()
	v := s.valid.Load()
	if v == nil || v.life != l {
		return // whoever ended it said why
	}
	deadline := v.until()
	if left := clock.Until(s.clock, deadline); left > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timer.Reset(left)
		return
	}
	l.end(Stop{Reason: string(machine.ReasonExpired), By: deadline})
}

// begin publishes that a term is on.
func (s *Status) begin(token record.Token, deadline record.Instant) {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	s.token.Store(uint64(token))
	s.valid.Store(&ValidTerm{Token: token, Deadline: deadline, life: &life{status: s}})
}

// extend publishes another deadline of the present term. One that ended stays so: the
// member may not know yet that its work was stopped.
func (s *Status) extend(deadline record.Instant) {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	if v := s.valid.Load(); v != nil {
		s.extendLocked(v, ValidTerm{Deadline: deadline})
	}
}

// goBy publishes that the present term lasts for as long as the reach.
func (s *Status) goBy(r *reach, jeopardy time.Duration) {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	if v := s.valid.Load(); v != nil {
		s.extendLocked(v, ValidTerm{Deadline: r.deadline(), reach: r, jeopardy: jeopardy})
	}
}

func (s *Status) extendLocked(v *ValidTerm, to ValidTerm) {
	if v.Deadline == to.Deadline && v.reach == to.reach {
		return
	}
	to.Token, to.life = v.Token, v.life
	if v.life.isOver() {
		to.life = &life{status: s} // extended at the very deadline: what was under way was cut, what comes is not
	}
	s.valid.Store(&to)
}

// end publishes that the term is over. It is called before anybody is told to stop.
func (s *Status) end(token record.Token, why Stop) {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	v := s.valid.Load()
	if v == nil || v.Token != token {
		return
	}
	s.valid.Store(nil)
	v.life.end(why)
}
