package election

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// reach is the common deadline of all terms that one run of beats keeps alive, and the guard of their
// work. The cost of a beat does not depend on the number of terms. After a gap between beats, a new reach
// begins.
type reach struct {
	clock    clock.Clock
	since    record.Instant
	validity *validity
	// last is the beat that was seen last.
	last atomic.Pointer[member.Beat]

	mu    sync.Mutex
	works map[*work]struct{}
	// grace is the longest stop grace of the works.
	grace time.Duration
	guard *clock.Timer
}

func newReach(c clock.Clock, beat member.Beat) *reach {
	r := &reach{clock: c, since: beat.Since, validity: newValidity(beat.Deadline), works: map[*work]struct{}{}}
	r.last.Store(&beat)
	return r
}

// extend notes another beat.
func (r *reach) extend(beat member.Beat) {
	r.last.Store(&beat)
	r.validity.extend(beat.Deadline)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setGuard(beat.Deadline)
}

// deadline is until when the terms may go on.
func (r *reach) deadline() record.Instant { return r.last.Load().Deadline }

// join puts a work under the guard.
func (r *reach) join(w *work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.works[w] = struct{}{}
	if r.guard == nil || w.grace > r.grace {
		r.grace = max(r.grace, w.grace)
		r.setGuard(r.deadline())
	}
}

// leave takes the work out again.
func (r *reach) leave(w *work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.works, w)
	if len(r.works) == 0 && r.guard != nil {
		r.guard.Stop()
		r.guard = nil
	}
}

// calm says whether the guard's time has not come yet: until then the works need no guards of their own.
func (r *reach) calm() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock.Now() < r.deadline().Add(-r.grace)
}

func (r *reach) setGuard(deadline record.Instant) {
	left := clock.Until(r.clock, deadline.Add(-r.grace))
	switch {
	case len(r.works) == 0:
	case r.guard == nil:
		r.guard = clock.AfterFunc(left, r.keep)
	default:
		r.guard.Reset(left)
	}
}

// keep runs when the time of the guard has come. If no beat came meanwhile, each work keeps its own deadline.
func (r *reach) keep() {
	r.mu.Lock()
	if r.clock.Now() < r.deadline().Add(-r.grace) {
		r.setGuard(r.deadline())
		r.mu.Unlock()
		return
	}
	works := make([]*work, 0, len(r.works))
	for w := range r.works {
		works = append(works, w)
	}
	r.mu.Unlock()
	for _, w := range works {
		w.keepApart()
	}
}
