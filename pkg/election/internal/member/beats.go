package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A beat of our session keeps thousands of terms alive, and touches none of them: a term that goes by
// the beats finds out how long it lasts when somebody asks. Only when a beat is late is each of them
// stepped, so that it is told and stopped at its own time, and once more when a beat is seen again.

// goesByBeats says whether a term of the contest is on that need not be told of beats.
func (c *contest) goesByBeats() bool {
	return c.m.beat.Sent != 0 && c.state.GoesByBeats() && c.plain()
}

// now is the machine's state with what the beats have kept alive since its last step. It is only read.
func (c *contest) now() *machine.State {
	if c.beats == 0 {
		return &c.state
	}
	now := c.state.Relying(c.config())
	return &now
}

// plain says whether the contest's terms may go by the beats alone. Only where they are configured so is
// their validity that of the session. Those of a migration go by both of its locks, and those that fail
// open look at each beat.
func (c *contest) plain() bool {
	return c.election.Renewal == record.RenewalSession && c.outer == nil && c.inner == nil && !c.failsOpen()
}

// present is what the machine is to know of the last beat.
func (c *contest) present() machine.Beat {
	b := c.m.beat
	b.Late = c.m.late() || !c.plain()
	return b
}

// heeds says whether the contest must be told of the next beat.
func (c *contest) heeds() bool {
	return c.state.NeedsBeats() || c.failsOpen() || c.state.GoesByBeats() && !c.plain()
}

// tendHeed notes whether the contest must be told of the next beat.
func (m *Member) tendHeed(c *contest) {
	if c.heeds() {
		m.heedful.add(c)
	} else {
		m.heedful.remove(c)
	}
}

// tendGoing tells the host when a term begins to go by the beats, or no longer does.
func (m *Member) tendGoing(c *contest) {
	goes := c.goesByBeats()
	if goes == (c.beats != 0) {
		return
	}
	if c.beats = 0; goes {
		c.beats = m.beat.Since
		m.byBeats++
	} else {
		m.byBeats--
	}
	if c.state.Role == machine.Leading {
		m.out.add(Extend{ID: c.election.ID, Deadline: c.state.Term.Deadline, Beats: c.beats})
	}
}

// lateAt is from when on the next beat is late: when the first term would be in jeopardy.
func (m *Member) lateAt() record.Instant {
	t := m.cfg.Timing
	t.StopGrace = m.longestGrace
	return m.beat.Sent.Add(t.Jeopardy())
}

func (m *Member) late() bool { return m.beat.Sent == 0 || m.now >= m.lateAt() }

// tendBeats steps all terms that go by the beats when one is late.
func (m *Member) tendBeats() {
	m.lateNext = 0
	switch {
	case m.byBeats == 0 || m.toldLate:
	case !m.late():
		m.lateNext = m.lateAt()
	default:
		m.toldLate = true
		m.stepGoing(machine.Tick{})
	}
}

// stepGoing steps all terms that go by the beats.
func (m *Member) stepGoing(event machine.Event) {
	m.contests.each(func(c *contest) {
		if c.beats != 0 {
			m.handle(c, event)
		}
	})
}

// sawBeat takes in what the realm's own stream shows of a session.
func (m *Member) sawBeat(e lock.Entry) {
	switch {
	case e.Record == nil:
		delete(m.heard, e.Name)
	case e.Record.Bound() && e.Record.Holder != "":
		m.heard[e.Name] = sign{e.Record.Holder, m.now}
	}
	seen, ours := m.own.Seen(m.now, e.Name, e.Record, e.Version)
	if !ours || seen.Sent <= m.beat.Sent {
		return
	}
	if m.sight.dims(m.now, m.reach(), m.cfg.Timing) {
		m.blind("our own beats come back too late, again and again")
	}
	if m.silent() {
		m.soundSince = m.now
	}
	late := m.late()
	if seen.Since = m.beat.Since; m.beat.Sent == 0 || m.now >= m.beat.Sent.Add(m.cfg.Timing.Validity()) {
		m.stepGoing(machine.Tick{}) // what relied on the beat before is over, as of then
		seen.Since = m.now
	}
	m.beat, m.answeredAt, m.toldLate = seen, 0, false
	m.out.add(Beat{Since: seen.Since, Deadline: seen.Sent.Add(m.cfg.Timing.Validity()), Sent: seen.Sent})
	for _, c := range m.heedful.all() {
		if !c.over {
			m.handle(c, machine.BeatSeen{})
		}
	}
	if late {
		m.stepGoing(machine.BeatSeen{})
	}
}
