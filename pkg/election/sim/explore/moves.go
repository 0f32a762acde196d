package explore

import (
	"fmt"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// move is one thing that may happen next: its kind, and to whom.
type move struct {
	kind  kind
	which uint8 // a member, or a stray write
}

type kind uint8

const (
	timePasses    kind = iota
	clockStands        // time passes, but not for the last member's clock
	clockCatches       // time passes, twice as much for the last member's clock
	writeArrives       // at the store
	replyArrives       // or the time-out
	readArrives        // at the store
	answerArrives      // to a read, or the time-out
	streamShows
	wakesUp
	workStops
	hearsPreference
	hearsDirectory
	leaves
	linkHeals
	streamGoesOn
	goesOn
	joinsAgain
	strayArrives
	fault // and above: fault + Fault
)

var kindNames = [...]string{
	timePasses: "a tick passes", clockStands: "a tick passes, unseen by the last clock", clockCatches: "a tick passes, two by the last clock",
	writeArrives: "its write reaches the store", replyArrives: "hears of its write", readArrives: "its read reaches the store",
	answerArrives: "hears of its read", streamShows: "its stream shows", wakesUp: "wakes up", workStops: "its work has stopped",
	hearsPreference: "hears of the preference", hearsDirectory: "hears of the others", leaves: "has left", linkHeals: "its link heals",
	streamGoesOn: "its stream goes on", goesOn: "goes on after the pause", joinsAgain: "joins again", strayArrives: "a stray write arrives",
}

func (m move) String() string {
	what := ""
	if m.kind > fault {
		what = "FAULT: " + Fault(m.kind-fault).String()
	} else {
		what = kindNames[m.kind]
	}
	switch m.kind {
	case timePasses, clockStands, clockCatches, strayArrives, fault + kind(Delete), fault + kind(Blank), fault + kind(Edit), fault + kind(Flip):
		return what
	}
	return fmt.Sprintf("%s: %s", name(int(m.which)), what)
}

// moves are all that may happen next. Requests and streams take no more than a tick, and
// whoever is woken up wakes up before time passes; only faults change that.
func (w *world) moves(list []move) []move {
	list = list[:0]
	add := func(k kind, which int) { list = append(list, move{k, uint8(which)}) } // #nosec G115 -- small
	urgent := false
	for i, m := range w.members {
		late := func(at int) bool { return w.now >= at+w.x.options.Lag }
		timedOut := func(at int) bool { return w.now > at }
		// What was sent is on its way, whatever became of its sender.
		if m.write.phase == sent && !m.dead {
			add(writeArrives, i)
			urgent = urgent || late(m.write.at)
		}
		if m.cut {
			add(linkHeals, i)
		}
		if m.stalled {
			add(streamGoesOn, i)
		}
		if m.dead {
			add(joinsAgain, i)
		}
		if m.paused {
			add(goesOn, i)
		}
		if !m.running() {
			continue
		}
		switch p := m.write.phase; {
		case p == lost && timedOut(m.write.at), p == committed, p == rejected, p == refused:
			add(replyArrives, i)
			urgent = urgent || late(m.write.at)
		}
		switch p := m.read.phase; {
		case p == sent:
			add(readArrives, i)
			urgent = urgent || late(m.read.at)
		case p == lost && timedOut(m.read.at), p == committed:
			add(answerArrives, i)
			urgent = urgent || late(m.read.at)
		}
		if len(m.queue) > 0 && !m.stalled && !m.cut {
			add(streamShows, i)
			urgent = urgent || late(m.queue[0].at)
		}
		if m.wake != 0 && m.wake <= w.local(i) {
			add(wakesUp, i)
			urgent = true
		}
		if m.work.asked {
			add(workStops, i)
			urgent = urgent || m.work.until <= w.local(i)
		}
		if m.preferred != w.preferred {
			add(hearsPreference, i)
		}
		if !slices.Equal(m.seen, w.truth(i)) {
			add(hearsDirectory, i)
		}
		if m.resigned && m.state.Settled(*m.cfg, w.local(i)) {
			add(leaves, i)
			urgent = true
		}
	}
	for n := range w.strays {
		if w.may(w.strays[n].ask) && (w.stored.record == nil) == (w.strays[n].ask.If == record.Version{}) {
			add(strayArrives, n)
		}
	}
	if !urgent {
		add(timePasses, 0)
		if last := w.members[len(w.members)-1]; w.x.options.Clocks == LastLags && !last.dead && !last.left {
			if last.lag == 0 {
				add(clockStands, len(w.members)-1)
			} else {
				add(clockCatches, len(w.members)-1)
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
	i := int(mv.which)
	if mv.kind > fault {
		w.budget--
		w.suffer(Fault(mv.kind-fault), i)
		w.forget()
		return w
	}
	switch mv.kind {
	case timePasses, clockStands, clockCatches:
		w.pass(mv.kind)
		return w
	case strayArrives:
		s := w.strays[i]
		w.strays = slices.Delete(slices.Clone(w.strays), i, i+1)
		if !w.put(s.member, s.incarnation, s.ask) {
			w.doom(s)
		}
		w.forget()
		return w
	}
	m := w.edit(i)
	switch mv.kind {
	case writeArrives:
		m.write.phase = rejected
		if w.put(i, m.incarnation, m.write.ask) {
			m.write.phase, m.write.stored = committed, w.stored
		}
		if m.cut {
			m.write.phase = lost
		}
		w.forget()
	case replyArrives:
		f := m.write
		m.write = flight{}
		done := machine.WriteDone{Beat: f.ask.Beat, Outcome: outcomes[f.phase], Sent: f.sent}
		if f.phase == committed {
			done.Record, done.Version = f.stored.record, f.stored.version
		}
		w.step(i, done)
	case readArrives:
		m.read.phase, m.read.shot = committed, w.stored
	case answerArrives:
		r := m.read
		m.read = reading{}
		if r.phase == lost {
			w.step(i, machine.ReadFailed{})
			break
		}
		o := machine.Observed{Source: machine.ReadBack, Record: r.shot.record, Version: r.shot.version, Sent: r.sent}
		if o.Record == nil {
			o.Version = record.Version{}
		}
		w.step(i, o)
	case streamShows:
		s := m.queue[0]
		m.queue = m.queue[1:]
		w.step(i, machine.Observed{Source: s.source, Record: s.stored.record, Version: s.stored.version, Sent: s.sent})
	case wakesUp:
		m.wake = 0
		w.step(i, machine.Tick{})
	case workStops:
		m.work = work{}
		w.step(i, machine.RunnersStopped{})
	case hearsPreference:
		m.preferred = w.preferred
		w.step(i, machine.PreferenceChanged{Preferred: record.Prefer(w.preferred), Digest: digest(w.preferred)})
	case hearsDirectory:
		w.hear(i)
	case leaves:
		w.depart(i)
		m.left = true
	case linkHeals:
		m.cut = false
		w.relist(i)
	case streamGoesOn:
		m.stalled = false
	case goesOn:
		m.paused, m.late = false, true
	case joinsAgain:
		w.join(i, m.incarnation+1)
		w.hear(i)
	}
	return w
}

var outcomes = map[phase]machine.Outcome{
	committed: machine.Committed, rejected: machine.Rejected, refused: machine.Refused, lost: machine.Unknown,
}

// pass has time pass by a tick.
func (w *world) pass(k kind) {
	w.now++
	last := len(w.members) - 1
	switch k {
	case clockStands:
		w.edit(last).lag = 1
	case clockCatches:
		w.edit(last).lag = 0
	}
	for i, m := range w.members {
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
			m.work.on = false
			w.judgeKilled(i, m)
		}
	}
}

// forget drops strays that can never be carried out.
func (w *world) forget() {
	if !slices.ContainsFunc(w.strays, func(s stray) bool { return !w.may(s.ask) }) {
		return
	}
	var still []stray
	for _, s := range w.strays {
		if w.may(s.ask) {
			still = append(still, s)
		} else {
			w.doom(s)
		}
	}
	w.strays = still
}

// strand makes a stray of the write that a member has on its way.
func (w *world) strand(i int) {
	m := w.edit(i)
	w.strays = append(slices.Clip(w.strays), stray{i, m.incarnation, m.write.ask})
	m.live = append(slices.Clip(m.live), m.write.ask.Beat)
}

// doom takes note that a stray will never be stored.
func (w *world) doom(s stray) {
	m := w.edit(s.member)
	m.live = slices.DeleteFunc(slices.Clone(m.live), func(b uint64) bool { return b == s.ask.Beat })
}

// depart takes a process out of the world: it asks and hears no more.
func (w *world) depart(i int) {
	m := w.edit(i)
	if m.write.phase == sent {
		w.strand(i)
	}
	m.live = nil
	if m.work.on {
		m.orphan = m.work.until
	}
	m.work, m.write, m.read, m.queue, m.wake, m.taken = work{}, flight{}, reading{}, nil, 0, 0
	m.cut, m.stalled, m.paused, m.late = false, false, false, false
	m.state = machine.Initial()
}
