package sim

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// stream is a watch of one incarnation. It shows history in order, from its cursor on.
type stream struct {
	i     *incarnation
	watch uint64
	// apart: the stream shows what is stored apart, only its names unless they are nil; else it shows all other objects.
	apart bool
	names []string
	// trial is the number of the list of other names under way; zero for none.
	trial uint64
	// denied is the one of the names that the store denies; empty if it denies none. lists counts the lists.
	denied  string
	lists   int
	cursor  int
	open    bool
	ended   bool
	pumping bool
	pumpAt  int64 // when the next change is shown, while pumping
	// stalledUntil: until then nothing comes out of an open stream.
	stalledUntil int64
	// brokenAt is where the cursor stood at the last break.
	brokenAt int
	// begun counts the lists with which the stream began, or started over. listing: such a list has not come yet.
	begun   int
	listing bool
	// relists counts the lists that were asked for while the stream went on.
	relists int
	// inserts shows a list that was made while the stream went on, once the stream is open; nil for none.
	inserts func()
	// next is pump, bound once to save allocations.
	next func()
}

func newStream(i *incarnation, w member.Watch) *stream {
	s := &stream{i: i, watch: w.Watch, apart: w.Store.ID != member.Own.ID, names: w.Names}
	s.next = s.pump
	return s
}

func (s *stream) world() *world { return s.i.p.h.w }

// of says whether the stream shows the object.
func (s *stream) of(e lock.Entry) bool {
	return s.world().apart[e.Name] == s.apart && (s.names == nil || slices.Contains(s.names, e.Name) && e.Name != s.denied)
}

// kick schedules the next change, which is shown after a latency.
func (s *stream) kick() {
	w := s.world()
	for s.open && s.cursor < len(w.store.history) && !s.of(w.store.history[s.cursor].entry) {
		s.cursor++
	}
	if !s.open || s.pumping || s.cursor >= len(w.store.history) || s.gone() {
		return
	}
	s.pumping = true
	at := w.store.history[s.cursor].at + int64(s.i.p.h.link.latency())
	s.pumpAt = max(at, s.stalledUntil, w.now)
	w.at(s.pumpAt, s.next)
}

// flow ends a stall; else the stall would outlast even a restart of the stream.
func (s *stream) flow() {
	s.stalledUntil, s.pumping = 0, false
	s.kick()
}

func (s *stream) pump() {
	w := s.world()
	if w.now != s.pumpAt {
		return // this call was planned for the end of a stall that has ended earlier
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
	s.tell(lock.Event{Kind: lock.Changed, Entry: c.entry})
	s.kick()
}

// each calls f for all streams.
func (i *incarnation) each(f func(*stream)) {
	for _, s := range i.streams {
		if s != nil {
			f(s)
		}
	}
}

// streamOf is the stream of a watch; nil if it has given way to another.
func (i *incarnation) streamOf(watch uint64) *stream {
	for _, s := range i.streams {
		if s != nil && s.watch == watch {
			return s
		}
	}
	return nil
}

// oneOf is one of the incarnation's streams, at random.
func (i *incarnation) oneOf() *stream {
	if s := i.streams[1]; s != nil && i.p.h.w.chance(0.5) {
		return s
	}
	return i.stream
}

// tell delivers the stream's events to the member, in order.
func (s *stream) tell(events ...lock.Event) {
	s.i.p.deliver(fromStream, func() {
		in := make([]member.Input, len(events))
		for n, e := range events {
			in[n] = member.Shown{Watch: s.watch, Event: e, At: s.i.now()}
		}
		s.i.p.tell(fromStream, s.i, in...)
	})
}

// taken is called when the member takes in an event of the stream.
func (s *stream) taken(e lock.Event) {
	w := s.world()
	entries := []lock.Entry{e.Entry}
	switch e.Kind {
	case lock.Changed:
	case lock.Listed:
		entries = e.List
		for _, m := range s.i.contests {
			if m != nil && w.apart[m.name] == s.apart && !slices.Contains(e.Denied, m.name) && !slices.ContainsFunc(e.List, func(o lock.Entry) bool { return o.Name == m.name }) {
				m.listed(lock.Entry{Version: record.Version{Revision: e.Revision}})
			}
		}
	default:
		return
	}
	for at := range entries {
		o := &entries[at]
		if w.isSession(*o) {
			s.i.shown(o.Record)
			w.judge.shown(s.i, o)
		} else if m := s.i.lockOf(o.Name); m != nil && e.Kind == lock.Listed {
			m.listed(*o)
		} else if m != nil {
			m.shown(*o)
		}
	}
}

// stall keeps the stream open and silent for a while.
func (s *stream) stall(d time.Duration) {
	s.stalledUntil = max(s.stalledUntil, s.world().now+int64(d))
}

// end is called when the member no longer wants the stream.
func (s *stream) end() {
	s.ended, s.open = true, false
	s.i.p.deliver(fromStream, func() { s.i.p.tell(fromStream, s.i, member.WatchEnded{Watch: s.watch}) })
}

// gone says whether nobody listens any more.
func (s *stream) gone() bool { return s.ended || s.i.p.dead || s.i.p.inc != s.i || s.i.p.between }

// cut breaks the stream. After d it resumes, or starts over with a list.
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
	s.tell(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
	w.after(d, func() {
		switch {
		case s.gone():
		case f == CutResumed && restores == w.store.restores:
			s.resume()
		default:
			s.anew()
		}
	})
	return true
}

// anew starts over with a list once the member has taken in all that the stream has said so far.
func (s *stream) anew() {
	s.i.p.deliver(fromStream, func() {
		if !s.gone() {
			s.list()
		}
	})
}

func (s *stream) resume() {
	s.open = true
	s.tell(lock.Event{Kind: lock.Resumed})
	s.inserted()
	s.kick()
}

// listFails says whether the list that the stream requests now fails. If so, it calls f when the stream learns of that.
func (s *stream) listFails(f func()) bool {
	w := s.world()
	if w.now >= s.i.p.h.link.readsUntil && (w.calm || !w.chance(w.noise)) {
		return false
	}
	w.after(w.between(w.timeout/4, w.timeout), func() {
		if !s.gone() {
			f()
		}
	})
	return true
}

// back is how long the answer to a list is on its way.
func (s *stream) back() time.Duration {
	if w := s.world(); !w.calm && w.chance(w.noise) {
		return w.upTo(w.timeout)
	}
	return s.i.p.h.link.latency()
}

// relist lists once more while the stream goes on. It gives that up if the stream lists by itself, and gives up such a list under way.
func (s *stream) relist() {
	w := s.world()
	if s.listing {
		return // the member asks again if that list comes too early
	}
	begun := s.begun
	s.relists++
	one := s.relists
	s.inserts = nil
	over := func() bool { return s.gone() || s.begun != begun || s.relists != one }
	asks := func(in member.Input) {
		s.i.p.deliver(fromStream, func() { s.i.p.tell(fromStream, s.i, in) })
	}
	asks(member.ListSent{Watch: s.watch, At: s.i.now()})
	if s.listFails(func() {
		if !over() {
			asks(member.ListFailed{Watch: s.watch, Err: lock.ErrUnknown})
			s.i.p.deliver(fromStream, func() { // once the process has taken in what the stream has said so far
				if !over() {
					s.relist()
				}
			})
		}
	}) {
		w.cov.saw(RelistFailed)
		return
	}
	w.after(s.i.p.h.link.latency(), func() {
		list := s.listNow()
		cursor := len(w.store.history)
		w.after(s.back(), func() {
			s.inserts = func() {
				if !over() { // as after a restore of the store: it cuts all streams, and they list
					s.insert(list, cursor)
				}
			}
			if s.open {
				s.inserted()
			}
		})
	})
}

// try has the member know once a list of other names passes.
func (s *stream) try(trial uint64) {
	w := s.world()
	s.trial = trial
	asks := func(in member.Input) {
		s.i.p.deliver(fromStream, func() { s.i.p.tell(fromStream, s.i, in) })
	}
	if s.listFails(func() {
		if s.trial == trial {
			asks(member.ListFailed{Watch: s.watch, Trial: trial, Err: lock.ErrUnknown})
			s.i.p.deliver(fromStream, func() { // once the process has taken in what the stream has said so far
				if !s.gone() && s.trial == trial {
					s.try(trial)
				}
			})
		}
	}) {
		w.cov.saw(TrialFailed)
		return
	}
	w.after(s.i.p.h.link.latency()+s.back(), func() {
		if !s.gone() && s.trial == trial {
			asks(member.ListPassed{Watch: s.watch, Trial: trial})
		}
	})
}

// inserted shows the list that was made while the stream goes on, if there is one.
func (s *stream) inserted() {
	if f := s.inserts; f != nil {
		s.inserts = nil
		f()
	}
}

// insert shows a list of before the cursor, as it is at the place that the stream has reached, or has the stream go on from there.
func (s *stream) insert(list lock.Event, cursor int) {
	w := s.world()
	for _, c := range w.store.history[cursor:max(cursor, s.cursor)] {
		if !s.of(c.entry) {
			continue
		}
		list.Revision = c.entry.Version.Revision
		list.List = slices.DeleteFunc(list.List, func(e lock.Entry) bool { return e.Name == c.entry.Name })
		if !c.entry.Absent() {
			list.List = append(list.List, c.entry)
		}
	}
	s.tell(list)
	if s.cursor < cursor {
		s.cursor, s.pumping, s.pumpAt = cursor, false, 0
		s.kick()
		w.cov.saw(RelistAhead)
	} else if s.cursor > cursor {
		w.cov.saw(RelistBehind)
	}
}

// listNow is a list of what the store has now.
func (s *stream) listNow() lock.Event {
	w := s.world()
	list := lock.Event{Kind: lock.Listed, Revision: w.store.revision}
	for _, e := range w.store.objects {
		if s.of(e) {
			list.List = append(list.List, e)
		}
	}
	return list
}

// list starts the stream, or has it start over.
func (s *stream) list() {
	w, h := s.world(), s.i.p.h
	if s.names != nil && len(s.names) == 0 {
		return // a watch of no names never shows anything
	}
	s.begun++
	s.listing = true
	s.tell(lock.Event{Kind: lock.Listing})
	if s.listFails(func() {
		s.tell(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
		s.anew()
	}) {
		return
	}
	w.after(h.link.latency(), func() {
		denied, why := s.deny()
		list := s.listNow()
		list.Denied, list.Err = denied, why
		cursor, restores := len(w.store.history), w.store.restores
		w.after(s.back(), func() {
			if s.gone() {
				return
			}
			if s.brokenAt < cursor {
				w.cov.saw(MissedByList)
			}
			s.cursor, s.listing = cursor, false
			s.trial = 0
			s.tell(list)
			if restores != w.store.restores {
				s.tell(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
				s.anew() // a watch cannot start from a revision that does not exist yet
				return
			}
			s.resume()
		})
	})
}
