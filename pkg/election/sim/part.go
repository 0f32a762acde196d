package sim

import (
	"fmt"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// part is a member's part in one election: its machine, and its work.
type part struct {
	i        *incarnation
	election int
	name     string
	cfg      machine.Config
	state    machine.State
	wake     alarm
	// removed: the election is no longer configured.
	removed bool

	work *work // of the present or last term
	// What the store knows of this part, for the judge: the token of its newest take or
	// renewal, when that was sent, and the token of its newest take.
	committedToken record.Token
	takenToken     record.Token
	takenRevision  uint64
	firstSeen      uint64 // the first revision of the lock that it was shown
	// undisturbed: since then the store has told of nothing else.
	undisturbed   bool
	committedSent record.Instant
	// takenThroughSession: its newest take is renewed by its session.
	takenThroughSession bool
	// beatSent is when the last beat of its session went out that the machine was told of.
	beatSent record.Instant
	// storedBeat is the highest beat of its own that the store has seen.
	storedBeat uint64
	pace       pace
	// passedOver: it has passed over a nominee, who may be worth no move for long.
	passedOver bool
	// betterSince is since when, at least, it has known somebody worth a move.
	betterSince record.Instant
}

// add makes the member take part in an election.
func (i *incarnation) add(e int) {
	m := i.newPart(e)
	m.preference()
	m.step(machine.DirectoryChanged{View: i.view})
}

// reconfigured takes in that an election was added, or removed.
func (i *incarnation) reconfigured(e int) {
	h, m := i.p.h, i.machines[e]
	switch {
	case i.p.inc != i || i.ending != "":
		return // the next incarnation begins with it
	case h.takesPart[e] && m == nil:
		i.add(e)
		i.stream.again()
	case h.takesPart[e] && m.removed: // it is a lock that strayed, or was removed a moment ago
		h.w.after(h.timing.RenewInterval/10, func() { i.p.deliver(fromTimer, func() { i.reconfigured(e) }) })
		return
	case !h.takesPart[e] && m != nil && !m.removed:
		m.remove()
	}
	i.publish()
}

func (i *incarnation) newPart(e int) *part {
	w := i.p.h.w
	m := &part{i: i, election: e, name: w.elections[e], state: machine.Initial()}
	m.cfg = machine.Config{
		Election: m.name, Group: group, Member: i.member(), Timing: i.p.h.timing, Policy: i.p.h.policy,
		Bootstrap: w.bootstrap[e], NotBefore: i.notBefore, Foreign: w.foreign[e], Renewal: i.p.h.renewal[e],
	}
	m.state.Beat, m.state.Disowned = i.beats[e], i.disowned[e]
	m.wake.do = m.tick
	i.machines[e] = m
	return m
}

func (m *part) preference() {
	h := m.i.p.h
	before, now := m.state.Preferred, h.preferred[m.election]
	if m.i.p.bursts != nil && before == now && m.state.Digest == h.digest {
		return
	}
	m.step(machine.PreferenceChanged{Preferred: now, Digest: h.digest})
	if before != now {
		h.w.judge.preferenceChanged(m)
	}
}

func (m *part) tick() {
	if m.current() {
		m.i.p.h.w.judge.ticked(m)
		m.step(machine.Tick{})
	}
}

func (m *part) observed(from machine.Source, r *record.Record, v record.Version, sent record.Instant) {
	if m.firstSeen == 0 {
		m.firstSeen = v.Revision
	}
	m.step(machine.Observed{Source: from, Record: r, Version: v, Sent: sent, View: m.i.listView, Jitter: m.i.p.h.w.rng.Float64()})
}

// current says whether the part is still driven.
func (m *part) current() bool { return m.i.p.inc == m.i && m.i.machines[m.election] == m }

// settled says whether a part that resigned may be forgotten.
func (m *part) settled() bool {
	return m.state.Settled(m.cfg, m.i.now()) && (m.work == nil || m.work.answered)
}

// remove takes the member out of the election once it has given up what it holds.
func (m *part) remove() {
	m.removed = true
	m.step(machine.Resign{Reason: machine.ReasonRemoved})
	if m.i.p.bursts == nil {
		m.forgetWhenSettled()
	}
}

func (m *part) forgetWhenSettled() {
	w := m.i.p.h.w
	if !m.current() {
		return
	}
	if m.settled() {
		m.i.machines[m.election] = nil
		m.i.beats[m.election] = m.state.Beat
		w.cov.saw(Removed)
		return
	}
	w.after(w.timing.RenewInterval/10, func() { m.i.p.deliver(fromTimer, m.forgetWhenSettled) })
}

// step gives the machine an event and does what it says.
func (m *part) step(e machine.Event) {
	w, h := m.i.p.h.w, m.i.p.h
	if w.violation != "" {
		return
	}
	if b, is := e.(machine.BeatSeen); is {
		m.beatSent = b.Sent
	} else if m.beatSent < m.i.beat.Sent {
		m.step(m.i.beat)
	}
	before := m.state.StandDownUntil
	now := h.clock.local(w.now)
	if w.tracing() {
		w.traceEvent(m, e)
	}
	w.judge.stepping(m, e)
	m.cfg.ProvenAt = m.i.proven()
	next, actions := machine.Step(m.cfg, m.state, now, e)
	m.state = next
	for _, a := range actions {
		if w.tracing() {
			w.traceAction(m, a)
		}
		m.do(a)
	}
	w.judge.stepped(m)
	if m.i.p.bursts != nil {
		if k := m.work; k != nil && k.asked && k.noticed && !k.answered {
			k.answered = true // what was told to stop had returned before
			m.step(machine.RunnersStopped{})
		}
		return
	}
	if m.state.StandDownUntil != before {
		w.after(0, func() {
			m.i.p.deliver(fromTimer, func() {
				if m.i.p.inc == m.i {
					m.i.publish()
				}
			})
		})
	}
}

func (m *part) do(action machine.Action) {
	w := m.i.p.h.w
	switch a := action.(type) {
	case machine.Write:
		m.write(a)
	case machine.Read:
		w.judge.wrote(m.i, m)
		m.i.get(m.name, func(e lock.Entry, sent record.Instant) {
			if m.current() {
				m.observed(machine.ReadBack, e.Record, e.Version, sent)
			}
		}, func() {
			if m.current() {
				m.step(machine.ReadFailed{})
			}
		})
	case machine.Start:
		m.start(a)
	case machine.Extend:
		w.judge.extended(m, a.Deadline)
		m.work.extend(a.Deadline)
	case machine.Stop:
		w.judge.stopped(m, a)
		m.work.stop(a)
	case machine.WakeAt:
		m.i.set(&m.wake, a.At)
	case machine.EndSession:
		w.judge.doubted(m.i)
		if m.i.p.bursts != nil {
			m.i.rejoinAt, m.i.untrusted = max(m.i.rejoinAt, a.NotBefore), a.Reason
		} else {
			m.i.end(a.Reason, a.NotBefore)
		}
	case machine.Disown:
		w.cov.saw(HeldOn)
		m.i.disowned[m.election] = a.Disowned
		if m.i.p.bursts == nil {
			w.after(0, func() {
				m.i.p.deliver(fromTimer, func() {
					if m.i.p.inc == m.i {
						m.i.publish()
					}
				})
			})
		}
	case machine.Report:
		w.cov.report(m, a)
	default:
		panic(fmt.Sprintf("sim: unknown action %T", action))
	}
}

func (m *part) write(a machine.Write) {
	m.i.p.h.w.judge.wrote(m.i, m)
	m.i.put(&request{i: m.i, m: m, name: m.name, record: a.Record, replaces: a.If, purpose: a.Purpose, beat: a.Beat})
}

// stored: a write of the machine was committed just now.
func (m *part) stored(q *request) {
	m.i.p.h.w.judge.stored(m, q)
	if q.purpose == machine.Claim || q.purpose == machine.Take || q.purpose == machine.Renew {
		if q.entry.Record.Token != m.committedToken {
			m.committedToken, m.committedSent = q.entry.Record.Token, q.sent
		}
		m.committedSent = max(m.committedSent, q.sent)
	}
}

// written takes in what became of a write.
func (m *part) written(q *request) {
	if !m.current() {
		return
	}
	event := machine.WriteDone{Beat: q.beat, Outcome: q.outcome, Sent: q.sent, RetryAfter: q.retryAfter, Jitter: m.i.p.h.w.rng.Float64()}
	if q.outcome == machine.Committed {
		event.Record, event.Version = q.entry.Record, q.entry.Version
	}
	m.step(event)
}
