package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A beat of our session extends thousands of terms without a step for each: a term that follows the beats
// (goesByBeats) computes its validity when somebody reads it. We step these terms only when a beat is late,
// so that each warns the host and stops at its own time, and again when the next beat comes.

// goesByBeats says whether the contest has a term that needs no step at each beat.
func (c *contest) goesByBeats() bool {
	return c.m.beat.Sent != 0 && c.state.GoesByBeats() && c.plain()
}

// now is the machine's state, with its validity extended by the beats since its last step. It is
// read-only.
func (c *contest) now() *machine.State {
	if c.beats == 0 {
		return &c.state
	}
	now := c.state.Relying(c.config())
	return &now
}

// plain says whether the contest's terms may follow the beats without a step at each: sessions may renew the
// election's terms, it does not migrate (then two locks count), and does not fail open (then the machine
// must see each beat).
func (c *contest) plain() bool {
	return c.election.Renewal.Of(false) == record.RenewalSession && c.outer == nil && c.inner == nil && !c.failsOpen()
}

// present is the last beat, for the machine. A contest that is not plain gets it as late, so that its
// machine asks for Ticks.
func (c *contest) present() machine.Beat {
	b := c.m.beat
	b.Late = c.m.late() || !c.plain()
	return b
}

// heeds says whether the contest needs a step at the next beat.
func (c *contest) heeds() bool {
	return c.state.NeedsBeats() || c.failsOpen() || c.state.GoesByBeats() && !c.plain()
}

// tendHeed keeps heedful up to date.
func (m *Member) tendHeed(c *contest) {
	if c.heeds() {
		m.heedful.add(c)
	} else {
		m.heedful.remove(c)
	}
}

// tendGoing tells the host when a term begins or ceases to follow the beats.
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

// lateAt is when the next beat becomes late: when the first term would be in jeopardy.
func (m *Member) lateAt() record.Instant {
	t := m.cfg.Timing
	t.StopGrace = m.longestGrace
	return m.beat.Sent.Add(t.Jeopardy())
}

func (m *Member) late() bool { return m.beat.Sent == 0 || m.now >= m.lateAt() }

// tendBeats steps all terms that follow the beats, once the next beat is late.
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

// stepGoing steps all terms that follow the beats.
func (m *Member) stepGoing(event machine.Event) {
	m.contests.each(func(c *contest) {
		if c.beats != 0 {
			m.handle(c, event)
		}
	})
}

// sawBeat handles a session that the realm's own stream shows, ours or another's.
func (m *Member) sawBeat(e lock.Entry) {
	switch {
	case e.Record == nil:
		m.unheard(e.Name)
	case e.Record.Bound() && e.Record.Holder != "":
		m.hear(e.Name, e.Record)
	}
	seen, ours := m.own.Seen(m.now, e.Name, e.Record, e.Version)
	if !ours {
		return
	}
	m.tendView() // terms may last longer by the sessions shown before it, or by an election that was added since
	announces := m.announced(e.Record, seen.Sent)
	if seen.Sent <= m.beat.Sent {
		if announces { // one of two beats that we sent at the same instant
			m.heed()
		}
		return
	}
	if m.sight.dims(m.now, m.reach(), m.cfg.Timing) {
		m.blind("the watch repeatedly shows our own beats too late")
	}
	if m.own.StoredBy(m.now).Sub(m.beat.Sent) > m.leastSilence() { // a watch that shows beats late is no silence of the store
		m.soundSince = m.now
	}
	late := m.late()
	if seen.Since = m.beat.Since; m.beat.Sent == 0 || m.now >= m.beat.Sent.Add(m.cfg.Timing.Validity()) {
		m.stepGoing(machine.Tick{}) // terms that relied on the last beat ended with it
		seen.Since = m.now
	}
	m.beat, m.answeredAt, m.toldLate = seen, 0, false
	m.out.add(Beat{Since: seen.Since, Deadline: seen.Sent.Add(m.cfg.Timing.Validity()), Sent: seen.Sent})
	m.heed()
	if late {
		m.stepGoing(machine.BeatSeen{})
	}
}

// hear notes a sign of life of a session's owner. A stranger's edit, or a list that shows an old beat again, is none.
func (m *Member) hear(name string, r *record.Record) {
	last := m.heard[name]
	if last.of == r.Holder && r.Mark.Beat <= last.beat {
		return
	}
	if last.of != r.Holder {
		m.unheard(name)
	}
	now := sign{of: r.Holder, at: m.now, beat: r.Mark.Beat, lasts: session.DurationOf(r)}
	if r.Member != nil {
		now.timings = r.Member.Timings
	}
	m.heard[name] = now
}

// heed steps the contests that wait for a beat.
func (m *Member) heed() {
	for _, c := range m.heedful.all() {
		if !c.over {
			m.handle(c, machine.BeatSeen{})
		}
	}
}
