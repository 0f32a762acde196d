package explore

import (
	"errors"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
)

// faults adds the moves by which the fault may happen now.
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
	}
	for i, m := range w.procs {
		if f.ofRequest() {
			for n := range m.requests {
				if w.mayFail(m, &m.requests[n], f) {
					add(i | n<<4)
				}
			}
			continue
		}
		possible := false
		switch f {
		case Break, Stall:
			possible = m.running() && !m.cut && !m.streams[w.x.election.Locks.ID].stalled
		case Cut, Pause, Crash:
			possible = m.alive() && !m.cut
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

// mayFail says whether the fault may happen to a request now.
func (w *world) mayFail(m *proc, q *request, f Fault) bool {
	if m.dead || q.ofLock() == (f == StrayBeat || f == LostBeatReply) || (q.write == nil) != (f == LostRead) {
		return false
	}
	switch f {
	case StrayWrite, RefusedWrite, StrayBeat:
		return q.phase == sent
	case SlowWrite:
		return !m.paused && (q.phase == sent || q.phase == committed) && q.at == w.now
	case LostReply:
		return m.running() && (q.phase == committed || q.phase == rejected)
	case LostBeatReply:
		return q.phase == sent || q.phase == committed || q.phase == rejected
	case LostRead:
		return m.running() && q.phase == sent
	}
	return false
}

// suffer carries out a fault.
func (w *world) suffer(f Fault, i, n int) {
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
	}
	m := w.edit(i)
	m.requests = slices.Clone(m.requests)
	switch f {
	case StrayWrite, StrayBeat:
		w.strand(i, n)
		m.requests[n].phase = lost
	case SlowWrite:
		m.requests[n].at++
	case LostReply, LostRead:
		m.lose(n)
	case LostBeatReply:
		if q := m.requests[n]; q.phase == sent {
			w.put(i, m.incarnation, &q)
		}
		m.lose(n)
	case RefusedWrite:
		m.requests[n].phase = refused
	case Break:
		w.breaks(i, int(w.x.election.Locks.ID))
	case Stall:
		m.streams[w.x.election.Locks.ID].stalled = true
	case Cut:
		m.cut = true
		for store := range m.streams {
			m.streams[store] = stream{watch: m.streams[store].watch}
		}
		for n := range m.requests {
			w.strand(i, n)
			m.lose(n)
		}
	case Pause:
		m.paused = true
	case Crash:
		w.depart(i)
		m.dead = true
	case Resign:
		m.resigned = true
		w.step(i, member.Leave{})
	case Fail:
		w.returns(i, errGivesUp)
	}
}

var errGivesUp = errors.New("gives up")

// lose makes sure that the member never gets an answer to its n-th request. A write to the lock that is
// stored stays in live.
func (m *proc) lose(n int) {
	if q := &m.requests[n]; q.ofLock() && q.write != nil && q.phase == committed {
		m.live = append(slices.Clip(m.live), q.beat)
	}
	m.requests[n].phase = lost
}
