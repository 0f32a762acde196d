package scenario

import (
	"maps"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// stream is one watch: it shows history in order, from its cursor on.
type stream struct {
	i     *incarnation
	watch uint64
	store *store
	// names are the objects that the stream shows; nil for all.
	names []string
	// ended: the member no longer wants the stream.
	ended  bool
	open   bool
	cursor int
	// listed: the stream has begun, with a list.
	listed bool
	// shows: the next change is about to be shown.
	shows bool
	// breaks counts the failed attempts in a row.
	breaks int
	// trial is the number of the list of other names under way; zero for none.
	trial uint64
}

// The host retries streams at the default pace of package follow.
const (
	firstRetry = 100 * time.Millisecond
	mostRetry  = 5 * time.Second
)

// each calls f for the incarnation's streams.
func (i *incarnation) each(f func(*stream)) {
	for _, watch := range slices.Sorted(maps.Keys(i.streams)) {
		if s := i.streams[watch]; s != nil {
			f(s)
		}
	}
}

// kick has the next change shown.
func (i *incarnation) kick() { i.each((*stream).kick) }

func (s *stream) kick() {
	w := s.i.p.w
	if !s.open || s.shows || s.cursor >= len(s.store.history) {
		return
	}
	s.shows = true
	w.after(showLatency, func() {
		s.shows = false
		var shown []member.Input
		for s.open && s.cursor < len(s.store.history) {
			s.cursor++
			if e := s.store.history[s.cursor-1]; s.of(e) {
				shown = append(shown, s.event(lock.Event{Kind: lock.Changed, Entry: e}))
			}
		}
		if len(shown) > 0 {
			s.i.do(shown...)
		}
	})
}

// of says whether the stream shows the object.
func (s *stream) of(e lock.Entry) bool { return s.names == nil || slices.Contains(s.names, e.Name) }

// event is an event of this watch at this moment.
func (s *stream) event(e lock.Event) member.Input {
	return member.Shown{Watch: s.watch, Event: e, At: s.i.p.now()}
}

// cut breaks the streams, because the API is away. They retry until they reach it again.
func (i *incarnation) cut() {
	i.each(func(s *stream) {
		if s.open {
			s.open, s.breaks = false, 0
			s.broken()
		}
	})
}

// broken schedules another attempt: the first at once, later ones after a growing wait.
func (s *stream) broken() {
	s.breaks++
	wait := s.pause(s.breaks)
	s.i.do(s.event(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown}))
	s.i.p.w.after(wait, s.attempt)
}

// pause is the wait after that many failures in a row.
func (s *stream) pause(failures int) time.Duration {
	if failures == 1 {
		return 0
	}
	wait := min(firstRetry<<min(failures-2, 10), mostRetry)
	return wait - time.Duration(float64(wait)/2*s.i.p.w.rng.Float64())
}

// try tells the member once a list of other names passes. The next trial ends this one, and so does the stream's own list.
func (s *stream) try(trial uint64, attempt int) {
	if s.ended || s.i.p.inc != s.i || s.trial != trial {
		return
	}
	s.i.p.w.count.Reads++
	passes := false
	s.i.course(func() { passes = true }, func() {
		switch {
		case s.ended || s.trial != trial:
		case passes:
			s.i.do(member.ListPassed{Watch: s.watch, Trial: trial})
		default:
			wait := s.pause(attempt)
			s.i.do(member.ListFailed{Watch: s.watch, Trial: trial, Err: lock.ErrUnknown})
			s.i.p.w.after(wait, func() { s.try(trial, attempt+1) })
		}
	})
}

func (s *stream) attempt() {
	switch {
	case s.i.p.inc != s.i || s.ended || s.open:
	case !s.listed:
		s.list()
	default:
		through := false
		s.i.course(func() { through = true }, func() {
			switch {
			case s.ended:
			case !through:
				s.broken()
			default:
				s.open = true
				s.i.do(s.event(lock.Event{Kind: lock.Resumed}))
				s.kick()
			}
		})
	}
}

// list begins the stream with a list of everything.
func (s *stream) list() {
	w := s.i.p.w
	if s.names != nil && len(s.names) == 0 {
		return // a watch of no names never shows anything
	}
	w.count.Reads++
	w.at(w.now, func() {
		if s.ended || s.i.p.inc != s.i {
			return
		}
		s.i.do(s.event(lock.Event{Kind: lock.Listing}))
		var list lock.Event
		cursor := 0
		s.i.course(func() {
			list = lock.Event{Kind: lock.Listed, Revision: w.realm.revision}
			for _, e := range s.store.objects {
				if s.of(e) {
					list.List = append(list.List, e)
				}
			}
			cursor, s.listed = len(s.store.history), true
		}, func() {
			switch {
			case s.ended:
			case !s.listed:
				s.broken()
			default:
				s.open, s.cursor, s.trial = true, cursor, 0
				s.i.do(s.event(list), s.event(lock.Event{Kind: lock.Resumed, Revision: list.Revision}))
				s.kick()
			}
		})
	})
}
