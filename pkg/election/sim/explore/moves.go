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
	which uint8 // a member, a stray write, or a session; of a session's request its number, above the member
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
	requestArrives // of a session, at the store
	requestAnswered
	sessionWakes
	goesBlind
	fault // and above: fault + Fault
)

var kindNames = [...]string{
	timePasses: "a tick passes", clockStands: "a tick passes, unseen by the last clock", clockCatches: "a tick passes, two by the last clock",
	writeArrives: "its write reaches the store", replyArrives: "hears of its write", readArrives: "its read reaches the store",
	answerArrives: "hears of its read", streamShows: "its stream shows", wakesUp: "wakes up", workStops: "its work has stopped",
	hearsPreference: "hears of the preference", hearsDirectory: "hears of the others", leaves: "has left", linkHeals: "its link heals",
	streamGoesOn: "its stream goes on", goesOn: "goes on after the pause", joinsAgain: "joins again", strayArrives: "a stray write arrives",
	requestArrives: "its session's request reaches the store", requestAnswered: "its session hears of its request",
	sessionWakes: "its session wakes up", goesBlind: "has not seen its beats for too long",
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

// request is the member, and which request of its session is meant.
func (m move) request() (member, n int) { return int(m.which & 15), int(m.which >> 4) }

// ofRequest says whether a move is about a request of a session.
func (k kind) ofRequest() bool {
	return k == requestArrives || k == requestAnswered || k == fault+kind(StrayBeat) || k == fault+kind(LostBeatReply)
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
		if !m.dead {
			for n, q := range m.requests {
				switch {
				case q.phase == sent && (q.ask != nil || m.running()):
					add(requestArrives, i|n<<4)
					urgent = urgent || late(q.at)
				case m.running() && (q.phase == committed || q.phase == rejected || q.phase == lost && timedOut(q.at)):
					add(requestAnswered, i|n<<4)
					urgent = urgent || late(q.at)
				}
			}
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
		if m.own != nil {
			if now := w.local(i); m.viewAt != 0 && m.viewAt <= now || m.stepAt != 0 && m.stepAt <= now {
				add(sessionWakes, i)
				urgent = true
			}
			if w.blind(i) {
				add(goesBlind, i)
				urgent = true
			}
		}
		if m.work.asked {
			add(workStops, i)
			urgent = urgent || m.work.until <= w.local(i)
		}
		if m.preferred != w.preferred {
			add(hearsPreference, i)
		}
		if m.own == nil && !slices.Equal(m.seen, w.truth(i)) {
			add(hearsDirectory, i)
		}
		if w.mayLeave(i) {
			add(leaves, i)
			urgent = true
		}
	}
	for n := range w.strays {
		if w.arrives(w.strays[n]) {
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
		switch {
		case s.session != nil:
			w.putSession(s.member, s.incarnation, s.sent, s.session)
		case !w.put(s.member, s.incarnation, s.ask):
			w.doom(s)
		}
		w.forget()
		return w
	}
	n := 0
	if mv.kind.ofRequest() {
		i, n = mv.request()
	}
	m := w.edit(i)
	defer w.giveUp(i)
	switch mv.kind {
	case requestArrives:
		w.requestArrives(i, n)
	case requestAnswered:
		w.requestAnswered(i, n)
	case sessionWakes:
		w.directoryChanged(i)
	case goesBlind:
		m.ending = machine.ReasonBlind
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
		if m.own != nil {
			w.judgeShown(i, s)
			if s.source == machine.List {
				w.listed(i, s)
				break
			}
			if s.name != "" {
				w.sessionShown(i, s)
				break
			}
			w.tendView(i) // whose the lock is follows from the sessions shown before it
		}
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
		if m.own != nil {
			m.own.Publish(published(i, m.incarnation, m.preferred))
			w.stepSession(i)
		}
	case hearsDirectory:
		w.hear(i)
	case leaves:
		w.leave(i)
	case linkHeals:
		m.cut = false
		w.relist(i)
	case streamGoesOn:
		m.stalled = false
	case goesOn:
		m.paused, m.late = false, true
	case joinsAgain:
		w.join(i, m.incarnation+1)
		if m.own == nil {
			w.hear(i)
		}
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
	if !slices.ContainsFunc(w.strays, func(s stray) bool { return !w.may(s) }) {
		return
	}
	var still []stray
	for _, s := range w.strays {
		if w.may(s) {
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
	w.strays = append(slices.Clip(w.strays), stray{member: i, incarnation: m.incarnation, ask: m.write.ask})
	m.live = append(slices.Clip(m.live), m.write.ask.Beat)
}

// doom takes note that a stray will never be stored.
func (w *world) doom(s stray) {
	if s.session != nil {
		return
	}
	m := w.edit(s.member)
	m.live = slices.DeleteFunc(slices.Clone(m.live), func(b uint64) bool { return b == s.ask.Beat })
}

// depart takes a process out of the world: it asks and hears no more.
func (w *world) depart(i int) {
	m := w.edit(i)
	if m.write.phase == sent {
		w.strand(i)
	}
	for n := range m.requests {
		w.strandRequest(i, n)
	}
	m.live, m.life = nil, life{}
	if m.work.on {
		m.orphan = m.work.until
	}
	m.work, m.write, m.read, m.queue, m.wake, m.taken = work{}, flight{}, reading{}, nil, 0, 0
	m.cut, m.stalled, m.paused, m.late = false, false, false, false
	m.state = machine.Initial()
}

// strandRequest makes a stray of the write that a session has on its way.
func (w *world) strandRequest(i, n int) {
	m := w.members[i]
	if q := m.requests[n]; q.phase == sent && q.ask != nil {
		w.strays = append(slices.Clip(w.strays), stray{member: i, incarnation: m.incarnation, session: q.ask, sent: q.sent})
	}
}

// arrives says whether a stray would be stored now.
func (w *world) arrives(s stray) bool {
	if s.session != nil {
		return s.session.If == w.session(s.session.Name).version
	}
	return w.may(s) && (w.stored.record == nil) == (s.ask.If == record.Version{})
}
