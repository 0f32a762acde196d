package election

import (
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// ValidTerm is a term of this member that was valid when Status.ValidTerm returned it. It does
// not change: once the term is extended, Status.ValidTerm returns another one.
type ValidTerm struct {
	Token record.Token
	// Deadline is when the validity ends unless it is extended, on CLOCK_BOOTTIME.
	Deadline record.Instant

	life *life
	// cycle is the Term's Cycle. The terms of a disabled election have no token; their cycles tell them apart.
	cycle int
	// reach gives the term its deadline while our session keeps it alive, else nil. jeopardy is how long
	// after a beat, without another one, the term is in jeopardy.
	reach    *reach
	jeopardy time.Duration
}

// until returns the deadline as of now.
func (v *ValidTerm) until() record.Instant {
	if v.reach != nil {
		return v.reach.deadline()
	}
	return v.Deadline
}

// OnEnd calls f once: when the term begins to stop, or when its deadline passes without an extension; at
// once if either has happened already. f runs on the goroutine that ends the term. It may use the Term and the
// Status, which say by then that the term is over.
//
// The work is told to stop only after f has returned, and must be dead by the same time as ever. So f must not block:
// if it blocks until then, the process ends. In an election without a runner nobody waits for f before the lock is released; if f
// blocks for stopGrace, the process ends. If f panics, the other callbacks are called and the work is told to stop
// all the same; nobody recovers the panic. After a freeze past the deadline, the work may be told to stop while f runs.
//
// forget cancels the callback; a call in progress is not awaited.
func (v *ValidTerm) OnEnd(f func(Stop)) (forget func()) { return v.life.onEnd(f) }

// ValidTerm returns the term that is valid at this moment. It returns nil before a term, after
// its deadline, and from the moment the term begins to stop, which is before its work is told
// to stop and long before the lock is released. A call costs two atomic loads and one reading
// of the clock; the first one after a beat also costs one allocation.
func (s *Status) ValidTerm() *ValidTerm {
	v := s.valid.Load()
	if v != nil && v.until() != v.Deadline {
		v = s.renewed()
	}
	if v == nil || s.shared.clock.Now() >= v.Deadline {
		return nil
	}
	return v
}

// renewed returns the present term with the deadline that the last beat gave it.
func (s *Status) renewed() *ValidTerm {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	if v := s.valid.Load(); v != nil {
		s.extendLocked(v, ValidTerm{Deadline: v.until(), reach: v.reach, jeopardy: v.jeopardy})
	}
	return s.valid.Load()
}

// Valid returns the term t while it is valid, else nil, even if a later term of this member
// is valid. It returns nil for a Term that no Manager began.
func (t Term) Valid() *ValidTerm {
	if t.status == nil {
		return nil
	}
	if v := t.status.ValidTerm(); v != nil && v.Token == t.Token && v.cycle == t.Cycle {
		return v
	}
	return nil
}

// life is what all ValidTerms of one term share.
type life struct {
	status *Status

	mu      sync.Mutex
	ended   *Stop // nil until the term ended
	waiting map[int]func(Stop)
	waited  int
	// timer watches the deadline from the first OnEnd on; before, it costs nothing.
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
		l.timer = clock.AfterFunc(0, l.keep) // keep sets it to the time that is left
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

// look sets the timer to the present deadline. By itself the timer looks when its time comes, so it notices later deadlines only.
func (l *life) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil && l.ended == nil {
		l.timer.Reset(0)
	}
}

// end ends the life. The caller must call tell afterwards.
func (l *life) end(why Stop) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		return
	}
	l.ended = &why
	if l.timer != nil {
		l.timer.Stop()
	}
}

// awaited says whether somebody waits for the end of the life.
func (l *life) awaited() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) > 0
}

// tell calls the callbacks of a life that has ended, except those that another goroutine calls or has called. It does
// not wait for that goroutine: tell may itself run within a callback, which gives the term up. The caller must hold no
// lock, since a callback may use the Term and the Status. A nil life has no callbacks.
func (l *life) tell() {
	if l == nil {
		return
	}
	all := false
	defer func() {
		if !all {
			l.tell() // one panicked, or ended its goroutine
		}
	}()
	for f := l.next(); f != nil; f = l.next() {
		f(*l.ended)
	}
	all = true
}

// next takes one of the callbacks; nil if there is none.
func (l *life) next() func(Stop) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, f := range l.waiting {
		delete(l.waiting, n)
		return f
	}
	return nil
}

func (l *life) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended != nil
}

// keep ends the life at its deadline, even if the host is held up.
func (l *life) keep() {
	if l.expires() {
		l.tell()
	}
}

// expires ends the life if its deadline has passed. Otherwise it sets the timer again.
func (l *life) expires() bool {
	s := l.status
	s.validMu.Lock()
	defer s.validMu.Unlock()
	v := s.valid.Load()
	if v == nil || v.life != l {
		return false // its end was reported
	}
	deadline := v.until()
	if left := clock.Until(s.shared.clock, deadline); left > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timer.Reset(left)
		return false
	}
	l.end(Stop{Reason: string(machine.ReasonExpired), By: deadline})
	return true
}

// begin publishes that a term is on. The caller stores its Cycle first.
func (s *Status) begin(token record.Token, deadline record.Instant) {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	s.token.Store(uint64(token))
	s.valid.Store(&ValidTerm{Token: token, cycle: s.Cycle(), Deadline: deadline, life: &life{status: s}})
}

// extend publishes another deadline of the present term. A term that ended stays ended: the
// member may not know yet that its work was stopped.
func (s *Status) extend(deadline record.Instant) {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	if v := s.valid.Load(); v != nil {
		s.extendLocked(v, ValidTerm{Deadline: deadline})
	}
}

// goBy publishes that the present term has the deadline of the reach.
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
	to.Token, to.cycle, to.life = v.Token, v.cycle, v.life
	if v.life.isOver() {
		to.life = &life{status: s} // extended at the very deadline: OnEnd was called, so a new life begins
	}
	s.valid.Store(&to)
	if to.Deadline < v.until() {
		to.life.look() // it may wait for the later deadline
	}
}

// end publishes that the term is over, and calls the callbacks of OnEnd. The caller must hold no lock.
func (s *Status) end(token record.Token, why Stop) { s.over(token, why).tell() }

// over publishes that the term is over, and returns its life. The caller must then call tell of that life, without a
// lock and before it tells the work to stop.
func (s *Status) over(token record.Token, why Stop) *life {
	s.validMu.Lock()
	defer s.validMu.Unlock()
	v := s.valid.Load()
	if v == nil || v.Token != token {
		return nil
	}
	s.valid.Store(nil)
	v.life.end(why)
	return v.life
}
