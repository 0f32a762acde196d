package sim

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// stream is the watch of one incarnation. It shows history in order, from its cursor on.
type stream struct {
	i       *incarnation
	cursor  int
	open    bool
	pumping bool
	pumpAt  int64 // when the next change is shown, while pumping
	// stalledUntil is until when nothing comes out of an open stream.
	stalledUntil int64
	// brokenAt is where the cursor stood at the last break.
	brokenAt int
	// mustList: an election was added, and only a list shows its lock.
	mustList bool
	// heardAt is when the member last heard anything of it.
	heardAt record.Instant
	// next is pump, bound once.
	next func()
}

func newStream(i *incarnation) *stream {
	s := &stream{i: i}
	s.next = s.pump
	return s
}

func (s *stream) world() *world { return s.i.p.h.w }

// kick has the next change shown, after a delay of its own.
func (s *stream) kick() {
	w := s.world()
	if !s.open || s.pumping || s.cursor >= len(w.store.history) || s.i.p.dead || s.i.p.inc != s.i {
		return
	}
	s.pumping = true
	at := w.store.history[s.cursor].at + int64(s.i.p.h.link.latency())
	s.pumpAt = max(at, s.stalledUntil, w.now)
	w.at(s.pumpAt, s.next)
}

// flow ends a stall. A stream that was begun anew meanwhile would be silent again.
func (s *stream) flow() {
	s.stalledUntil = 0
	if s.i.p.bursts != nil {
		s.pumping = false
		s.kick()
	}
}

func (s *stream) pump() {
	w := s.world()
	if w.now != s.pumpAt {
		return // it was to end a stall that is over
	}
	s.pumping = false
	if !s.open || s.cursor >= len(w.store.history) {
		return
	}
	if w.now < s.stalledUntil {
		s.kick()
		return
	}
	c := &w.store.history[s.cursor]
	s.cursor++
	if w.now-c.at > int64(w.timing.LeaseDuration) {
		w.cov.saw(ShownLate)
	}
	if p := s.i.p; p.handles() && p.inc == s.i {
		s.i.shown(&c.entry)
	} else {
		entry := c.entry
		s.tell(func() { s.i.shown(&entry) })
	}
	s.kick()
}

// tell delivers to the member what the stream says, in order.
func (s *stream) tell(f func()) {
	s.i.p.deliver(fromStream, func() {
		if s.i.p.inc == s.i {
			f()
		}
	})
}

// stall keeps the stream open and silent for a while.
func (s *stream) stall(d time.Duration) {
	s.stalledUntil = max(s.stalledUntil, s.world().now+int64(d))
}

// cut breaks the stream; after a while it is resumed, or starts over with a list.
func (s *stream) cut(f Fault, d time.Duration) bool {
	if !s.open {
		return false
	}
	w := s.world()
	s.open = false
	s.brokenAt = s.cursor
	restores := w.store.restores
	if w.now+int64(d) > w.calmAt {
		d = time.Duration(max(0, w.calmAt-w.now)) + w.upTo(time.Second)
	}
	w.after(d, func() {
		if s.i.p.dead || s.i.p.inc != s.i {
			return
		}
		if f == CutResumed && !s.mustList && restores == w.store.restores {
			s.resume()
		} else {
			s.anew()
		}
	})
	return true
}

// again starts the stream over, at once if it is open.
func (s *stream) again() {
	s.mustList = true
	s.cut(CutRelisted, 0)
}

// anew asks for a list. Where the driver takes in bursts another asks than itself.
func (s *stream) anew() {
	if s.i.p.bursts == nil {
		s.tell(s.list)
		return
	}
	s.i.p.deliver(fromPool, func() {
		if s.i.p.inc == s.i {
			s.list()
		}
	})
}

func (s *stream) resume() {
	s.open = true
	s.kick()
}

// list starts the stream, or starts it over.
func (s *stream) list() {
	w, h := s.world(), s.i.p.h
	sent := h.clock.local(w.now)
	s.mustList = false
	if w.now < h.link.readsUntil || !w.calm && w.chance(w.noise) {
		w.after(w.between(w.timeout/4, w.timeout), s.anew)
		return
	}
	w.after(h.link.latency(), func() {
		entries, revision, cursor, restores := slices.Clone(w.store.objects), w.store.revision, len(w.store.history), w.store.restores
		back := h.link.latency()
		if !w.calm && w.chance(w.noise) {
			back = w.upTo(w.timeout)
		}
		w.after(back, func() {
			if s.brokenAt < cursor {
				w.cov.saw(MissedByList)
			}
			s.cursor = cursor
			s.tell(func() { s.i.listed(sent, revision, entries) })
			if restores != w.store.restores {
				s.anew() // nothing can be watched from a revision that has yet to come
				return
			}
			s.resume()
		})
	})
}

// shown takes in one change.
func (i *incarnation) shown(e *lock.Entry) {
	if i.p.bursts != nil {
		i.shownInBurst(e)
		return
	}
	if i.dir.Owns(e.Name) {
		i.p.h.w.judge.shown(i, e)
		i.dir.Observe(i.now(), e.Name, e.Record, e.Version)
		defer i.sawBeat(e)
		if !i.onlyABeat(e.Record) {
			i.directoryChanged()
		}
		return
	}
	m := i.machineOf(e.Name)
	if m == nil {
		m = i.stray(e)
	}
	if m != nil {
		m.observed(machine.Stream, e.Record, e.Version, 0)
	}
}

// listed takes in a consistent list.
func (i *incarnation) listed(sent record.Instant, revision uint64, entries []lock.Entry) {
	if i.p.bursts != nil {
		i.listedInBurst(sent, revision, entries)
		return
	}
	var sessions []session.Shown
	for _, e := range entries {
		if i.dir.Owns(e.Name) {
			sessions = append(sessions, session.Shown{Name: e.Name, Record: e.Record, Version: e.Version})
		}
	}
	consistent := i.dir.List(i.now(), sent, revision, sessions)
	i.directoryChanged()
	for at := range entries {
		if e := &entries[at]; !i.dir.Owns(e.Name) && i.machineOf(e.Name) == nil {
			i.stray(e) // it is shown the lock below
		}
	}
	for _, m := range i.machines {
		if m == nil {
			continue
		}
		e := lock.Entry{Version: record.Version{Revision: revision}}
		if at := slices.IndexFunc(entries, func(e lock.Entry) bool { return e.Name == m.name }); at >= 0 {
			e = entries[at]
		}
		m.observed(machine.List, e.Record, e.Version, sent)
	}
	for at := range entries {
		if e := &entries[at]; i.dir.Owns(e.Name) {
			i.p.h.w.judge.shown(i, e)
			i.sawBeat(e)
		}
	}
	if !consistent {
		i.resetSeen()
	}
}
