package scenario

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// stream is the watch of one incarnation: it shows history in order, from its cursor on.
type stream struct {
	i      *incarnation
	open   bool
	cursor int
	// listed says whether it has begun with a list.
	listed bool
	// shows says whether a change is under way.
	shows bool
	// breaks counts attempts in a row that came to nothing.
	breaks int
}

// Streams are tried again as package follow does it with its default pace.
const (
	firstRetry = 100 * time.Millisecond
	mostRetry  = 5 * time.Second
)

// kick has the next change shown.
func (s *stream) kick() {
	w := s.i.p.w
	if !s.open || s.shows || s.cursor >= len(w.store.history) {
		return
	}
	s.shows = true
	w.after(showLatency, func() {
		s.shows = false
		s.i.do(func() {
			for s.open && s.cursor < len(w.store.history) {
				s.cursor++
				s.i.shown(w.store.history[s.cursor-1])
			}
		})
	})
}

// cut breaks the stream. It is tried again until it is through.
func (s *stream) cut() {
	if s.open {
		s.open, s.breaks = false, 0
		s.broken()
	}
}

// broken has it tried again after a while: at once at first.
func (s *stream) broken() {
	s.breaks++
	wait := time.Duration(0)
	if s.breaks > 1 {
		wait = firstRetry << min(s.breaks-2, 10)
		wait = min(wait, mostRetry)
		wait -= time.Duration(float64(wait) / 2 * s.i.p.w.rng.Float64())
	}
	s.i.p.w.after(wait, s.attempt)
}

func (s *stream) attempt() {
	switch {
	case s.i.p.inc != s.i || s.open:
	case !s.listed:
		s.list()
	default:
		through := false
		s.i.course(func() { through = true }, func() {
			if !through {
				s.broken()
				return
			}
			s.open = true
			s.kick()
		})
	}
}

// list begins the stream with all there is.
func (s *stream) list() {
	w, sent := s.i.p.w, s.i.p.now()
	w.count.Reads++
	var entries []lock.Entry
	revision, cursor := uint64(0), 0
	s.i.course(func() {
		entries, s.listed = append(entries, w.store.objects...), true
		revision, cursor = w.store.revision, len(w.store.history)
	}, func() {
		if !s.listed {
			s.broken()
			return
		}
		s.open, s.cursor = true, cursor
		s.i.listed(sent, revision, entries)
		s.kick()
	})
}
