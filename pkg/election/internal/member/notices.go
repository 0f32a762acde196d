package member

import (
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// What happens to a term while nobody answers: nothing is decided here, it is told.

// Notice is what may become of the renewals of a term.
type Notice int

const (
	// Jeopardy: renewals fail, and half of the outage that a term survives is over.
	Jeopardy Notice = iota + 1
	// FailOpen: renewals fail, and the term goes on although its work would be stopped by now
	// without `outage: failopen`.
	FailOpen
	// Regained: after Jeopardy the term was renewed; it was never interrupted.
	Regained
)

func (n Notice) String() string {
	switch n {
	case Jeopardy:
		return "jeopardy"
	case FailOpen:
		return "failopen"
	case Regained:
		return "regained"
	}
	return "invalid"
}

// Health is how well the renewals of the present term do. It does not change.
type Health struct {
	// Renewed is when the last committed renewal was sent.
	Renewed record.Instant
	// Jeopardy is when half of the outage is over; Open, when stopping would begin that does
	// not in a term that fails open, else zero.
	Jeopardy, Open record.Instant
}

// notices are what was told of the present term.
type notices struct {
	jeopardy, open bool
	// at is when to look again; zero for never.
	at record.Instant
}

// healthOf is that of the contest's term, of both locks where there are two.
func (c *contest) healthOf() (h Health, leads bool) {
	t := &c.election.Timing
	valid := c.now().ValidUntil()
	if c.outer != nil {
		valid = min(valid, c.outer.state.ValidUntil())
	}
	if c.state.Role != machine.Leading || valid == 0 {
		return h, false
	}
	h.Renewed = valid.Add(-t.Validity())
	h.Jeopardy = h.Renewed.Add(t.Jeopardy())
	if c.failsOpen() {
		h.Open = valid.Add(-t.StopGrace)
	}
	return h, true
}

// healthChanges takes in how the present term does, and says whether the host knows otherwise.
// Terms that do alike share one copy.
func (m *Member) healthChanges(c *contest, h Health) bool {
	if c.health != nil && *c.health == h {
		return false
	}
	if m.health == nil || *m.health != h {
		kept := h // so that nothing is allocated where there is one already
		m.health = &kept
	}
	c.health = m.health
	return true
}

// healthEnds takes in that no term is on, and says whether the host thinks that one is.
func (m *Member) healthEnds(c *contest) bool {
	had := c.health != nil
	c.health = nil
	return had
}

// extended has the host's work go on until another deadline.
func (m *Member) extended(c *contest, deadline record.Instant) {
	do := Extend{ID: c.election.ID, Deadline: deadline}
	if h, leads := c.healthOf(); leads && m.healthChanges(c, h) {
		do.Health = c.health // one effect is enough
	}
	m.out.add(do)
}

// notice publishes how the contest's term does, and what changed about that.
func (m *Member) notice(c *contest) {
	m.tendAlarm(c)
	m.publishRange(c)
	h, leads := c.healthOf()
	if leads && c.beats == 0 && m.healthChanges(c, h) || !leads && m.healthEnds(c) {
		m.out.add(Renewals{c.election.ID, c.health})
	}
	if !leads {
		c.notices = notices{}
		m.rewake(c)
		return
	}
	n, now := &c.notices, m.now
	tell := func(what Notice) {
		level := zap.InfoLevel // what fails was logged as it failed
		if what == FailOpen {
			level = zap.WarnLevel
		}
		m.log.Log(level, "renewals: "+what.String(), zap.String("election", c.name()), zap.Uint64("term", uint64(c.token)),
			zap.Duration("sinceRenewal", now.Sub(h.Renewed).Round(time.Millisecond)))
		m.out.add(Noticed{c.election.ID, what, c.state.Role})
	}
	n.at = 0
	switch {
	case now < h.Jeopardy:
		if n.jeopardy {
			*n = notices{}
			tell(Regained)
		}
		if c.beats == 0 || m.late() { // else it is due when a beat is late
			n.at = h.Jeopardy
		}
	case !n.jeopardy:
		n.jeopardy = true
		tell(Jeopardy)
	}
	switch {
	case h.Open == 0 || n.open:
	case now >= h.Open:
		n.open = true
		tell(FailOpen)
	case n.at == 0:
		n.at = h.Open
	}
	m.rewake(c)
}
