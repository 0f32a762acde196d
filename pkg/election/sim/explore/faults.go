package explore

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/machine"
)

// faults adds the moves by which a fault may happen now.
func (w *world) faults(list []move, f Fault) []move {
	add := func(which int) { list = append(list, move{fault + kind(f), uint8(which)}) } // #nosec G115 -- small
	switch f {
	case Delete, Edit:
		if w.stored.record != nil {
			add(0)
		}
		return list
	case Blank:
		if w.stored.record != nil && w.stored.record.Holder != "" {
			add(0)
		}
		return list
	case Flip:
		add(0)
		return list
	case DeleteSession:
		for n := range w.sessions {
			add(n)
		}
		return list
	case StrayBeat, LostBeatReply:
		for i, m := range w.members {
			for n, q := range m.requests {
				if q.ask != nil && !m.dead && (q.phase == sent || f == LostBeatReply && (q.phase == committed || q.phase == rejected)) {
					add(i | n<<4)
				}
			}
		}
		return list
	}
	for i, m := range w.members {
		possible := false
		switch f {
		case StrayWrite, RefusedWrite:
			possible = m.write.phase == sent && !m.dead
		case SlowWrite:
			possible = !m.dead && !m.paused && (m.write.phase == sent || m.write.phase == committed) && m.write.at == w.now
		case LostReply:
			possible = m.running() && (m.write.phase == committed || m.write.phase == rejected)
		case LostRead:
			possible = m.running() && m.read.phase == sent
		case Break, Stall:
			possible = m.running() && !m.cut && !m.stalled
		case Cut, Pause, Crash:
			possible = m.running() && !m.cut
		case Resign:
			possible = m.running() && !m.resigned
		case Fail:
			possible = m.running() && m.work.on && !m.work.asked
		}
		if possible {
			add(i)
		}
	}
	return list
}

// suffer carries out a fault.
func (w *world) suffer(f Fault, i int) {
	switch f {
	case Delete:
		w.commit(nil)
		return
	case Edit:
		r := *w.stored.record
		w.commit(&r)
		return
	case Blank:
		r := *w.stored.record
		r.Holder = ""
		w.commit(&r)
		return
	case Flip:
		w.preferred = map[string]string{revisionA: revisionB, revisionB: revisionA}[w.preferred]
		return
	case DeleteSession:
		w.commitSession(w.sessions[i].name, nil)
		return
	case StrayBeat, LostBeatReply:
		i, n := move{which: uint8(i)}.request() // #nosec G115 -- it was one
		m := w.edit(i)
		if f == StrayBeat {
			w.strandRequest(i, n)
		}
		m.requests = slices.Clone(m.requests)
		if q := m.requests[n]; f == LostBeatReply && q.phase == sent {
			w.putSession(i, m.incarnation, q.sent, q.ask)
		}
		m.requests[n].phase = lost
		return
	}
	m := w.edit(i)
	switch f {
	case StrayWrite:
		w.strand(i)
		m.write.phase = lost
	case SlowWrite:
		m.write.at++
	case LostReply:
		m.remember()
		m.write.phase = lost
	case LostRead:
		m.read.phase = lost
	case RefusedWrite:
		m.write.phase = refused
	case Break:
		w.relist(i)
	case Stall:
		m.stalled = true
	case Cut:
		m.cut, m.stalled, m.queue = true, false, nil
		if m.write.phase == sent {
			w.strand(i)
		}
		m.requests = slices.Clone(m.requests)
		for n := range m.requests {
			w.strandRequest(i, n)
			m.requests[n].phase = lost
		}
		m.remember()
		if m.write.phase != none {
			m.write.phase = lost
		}
		if m.read.phase != none {
			m.read.phase = lost
		}
	case Pause:
		m.paused = true
	case Crash:
		w.depart(i)
		m.dead, m.resigned = true, false
	case Resign:
		m.resigned = true
		w.step(i, machine.Resign{Reason: machine.ReasonShutdown})
	case Fail:
		m.work.on = false
		w.step(i, machine.RunnersFailed{})
	}
}

// remember keeps in mind that the write, whose reply is lost, is stored.
func (m *member) remember() {
	if m.write.phase == committed {
		m.live = append(slices.Clip(m.live), m.write.ask.Beat)
	}
}
