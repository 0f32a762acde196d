package explore

import (
	"fmt"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
)

// move is one thing that may happen next, and which object it happens to.
type move struct {
	kind  kind
	which uint8 // the index of a member, stray write or session; for a request also its number, in the upper bits
}

type kind uint8

const (
	timePasses      kind = iota
	clockStands          // time passes, but not for the last member's clock
	clockCatches         // time passes, twice as much for the last member's clock
	requestArrives       // at the store
	requestAnswered      // or it times out
	streamShows
	wakesUp
	workStops
	hearsPreference
	comesBack
	linkHeals
	streamGoesOn
	goesOn
	joinsAgain
	strayArrives
	fault // and above: fault + Fault
)

var kindNames = [...]string{
	timePasses: "a tick passes", clockStands: "a tick passes, unseen by the last clock", clockCatches: "a tick passes, two by the last clock",
	requestArrives: "its request reaches the store", requestAnswered: "hears of its request", streamShows: "its stream shows",
	wakesUp: "wakes up", workStops: "its work has stopped", hearsPreference: "hears of the preference", comesBack: "comes back under a new identity",
	linkHeals: "its link heals", streamGoesOn: "its stream goes on", goesOn: "goes on after the pause", joinsAgain: "joins again",
	strayArrives: "a stray write arrives",
}

func (m move) String() string {
	what := ""
	if m.kind > fault {
		what = "FAULT: " + Fault(m.kind-fault).String()
	} else {
		what = kindNames[m.kind]
	}
	switch m.kind {
	case timePasses, clockStands, clockCatches, strayArrives, fault + kind(Delete), fault + kind(Blank), fault + kind(Edit), fault + kind(Flip), fault + kind(DeleteSession):
		return what
	}
	i, _ := m.request()
	return fmt.Sprintf("%s: %s", name(i), what)
}

// request returns the index of the member, and the number of its request.
func (m move) request() (member, n int) { return int(m.which & 15), int(m.which >> 4) }

// ofRequest says whether a move of this kind concerns one request.
func (k kind) ofRequest() bool {
	switch k {
	case requestArrives, requestAnswered:
		return true
	}
	return k > fault && Fault(k-fault).ofRequest()
}

// moves are all moves that may come next. Without a fault, requests and streams take no more than a tick,
// and a member that is due wakes up before time passes.
func (w *world) moves(list []move) []move {
	list = list[:0]
	add := func(k kind, which int) { list = append(list, move{k, uint8(which)}) } // #nosec G115 -- small
	urgent := false
	late := func(at int) bool { return w.now >= at+w.x.options.Lag }
	locks := w.x.election.Locks.ID
	for i, m := range w.procs {
		at := &m.streams[locks]
		for n, q := range m.requests {
			switch {
			case m.dead:
			case q.phase == sent && (q.write != nil || m.running()): // a write is on its way even if its sender is gone
				add(requestArrives, i|n<<4)
				urgent = urgent || late(q.at)
			case m.running() && (q.phase == committed || q.phase == rejected || q.phase == refused || q.phase == lost && w.now > q.at):
				add(requestAnswered, i|n<<4)
				urgent = urgent || late(q.at)
			}
		}
		if m.cut {
			add(linkHeals, i)
		}
		if at.stalled {
			add(streamGoesOn, i)
		}
		if m.dead {
			add(joinsAgain, i)
		}
		if m.paused {
			add(goesOn, i)
		}
		if m.alive() && m.again != 0 && m.again <= w.local(i) {
			add(comesBack, i)
			urgent = true
		}
		if !m.running() {
			continue
		}
		if len(at.queue) > 0 && !at.stalled && !m.cut {
			add(streamShows, i)
			urgent = urgent || late(at.queue[0].at)
		}
		if due := m.member.Wake(); due != 0 && due <= w.local(i) {
			add(wakesUp, i)
			urgent = true
		}
		if m.work.asked || m.work.expired {
			add(workStops, i)
			urgent = urgent || m.work.until <= w.local(i)
		}
		if m.preferred != w.preferred {
			add(hearsPreference, i)
		}
	}
	for n := range w.strays {
		if w.arrives(w.strays[n]) {
			add(strayArrives, n)
		}
	}
	if !urgent {
		add(timePasses, 0)
		if last := w.procs[len(w.procs)-1]; w.x.options.Clocks == LastLags && !last.dead && !last.left {
			if last.lag == 0 {
				add(clockStands, len(w.procs)-1)
			} else {
				add(clockCatches, len(w.procs)-1)
			}
		}
	}
	if w.budget > 0 {
		for _, f := range w.x.options.Faults {
			list = w.faults(list, f)
		}
	}
	return list
}

// apply is the world after a move.
func (w *world) apply(mv move) *world {
	w = w.clone()
	w.trace.move(w, mv)
	i, n := int(mv.which), 0
	if mv.kind.ofRequest() {
		i, n = mv.request()
	}
	switch mv.kind {
	case timePasses, clockStands, clockCatches:
		w.pass(mv.kind)
	case strayArrives:
		s := w.strays[i]
		w.strays = slices.Delete(slices.Clone(w.strays), i, i+1)
		if !w.put(s.proc, s.incarnation, &s.request) {
			w.doom(s)
		}
	case requestArrives:
		w.requestArrives(i, n)
	case requestAnswered:
		w.requestAnswered(i, n)
	case streamShows:
		w.streamShows(i, int(w.x.election.Locks.ID))
	case wakesUp:
		w.step(i)
	case workStops:
		w.returns(i, nil)
	case hearsPreference:
		w.edit(i).preferred = w.preferred
		w.step(i, member.Prefer{Preference: preference(w.preferred)})
	case comesBack, joinsAgain:
		w.join(i, w.procs[i].incarnation+1)
	case linkHeals:
		w.edit(i).cut = false
		for store := range w.procs[i].streams {
			if w.procs[i].streams[store].watch != 0 {
				w.breaks(i, store)
			}
		}
	case streamGoesOn:
		w.edit(i).streams[w.x.election.Locks.ID].stalled = false
	case goesOn:
		m := w.edit(i)
		m.paused, m.late = false, true
	default:
		w.budget--
		w.suffer(Fault(mv.kind-fault), i, n)
	}
	w.settleBeats()
	w.forget()
	return w
}

// pass lets time pass by a tick.
func (w *world) pass(k kind) {
	w.now++
	last := len(w.procs) - 1
	switch k {
	case clockStands:
		w.edit(last).lag = 1
	case clockCatches:
		w.edit(last).lag = 0
	}
	for i, m := range w.procs {
		now := w.local(i)
		if m.late {
			m = w.edit(i)
			m.late = false
		}
		if m.orphan != 0 && m.orphan <= now {
			m = w.edit(i)
			m.orphan = 0
		}
		if m.work.on && m.work.until <= now {
			m = w.edit(i)
			m.work.on, m.work.expired = false, !m.work.asked
			w.judgeKilled(i, m)
		}
	}
}
