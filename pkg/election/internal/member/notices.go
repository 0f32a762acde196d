package member

import (
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Notices tell the host what becomes of a term while its renewals fail. They decide nothing.

// Notice is a change in how the renewals of a term do.
type Notice int

const (
	// Jeopardy: renewals fail, and half of the outage that a term survives is over.
	Jeopardy Notice = iota + 1
	// FailOpen: renewals fail, and the term goes on only because of `outage: failopen`; else its work
	// would have to stop now.
	FailOpen
	// Regained: the term was renewed after Jeopardy, without interruption.
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
	// Jeopardy is when half of the outage that the term survives is over. Open is when a term that fails
	// open would otherwise begin to stop; zero for other terms.
	Jeopardy, Open record.Instant
}

// forgetNotices: the host got no Notice of the present state of the renewals.
func (c *contest) forgetNotices() { c.jeopardy, c.open, c.noticeAt = false, false, 0 }

// healthOf is the health of the contest's term: that of both locks in a migration.
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

// healthChanges notes the present term's health, and says whether it is news for the host. Terms of
// equal health share one copy.
func (m *Member) healthChanges(c *contest, h Health) bool {
	if c.health != nil && *c.health == h {
		return false
	}
	if m.health == nil || *m.health != h {
		kept := h // escapes in place of h: no allocation unless we get here
		m.health = &kept
	}
	c.health = m.health
	return true
}

// healthEnds notes that there is no term, and says whether that is news for the host.
func (m *Member) healthEnds(c *contest) bool {
	had := c.health != nil
	c.health = nil
	return had
}

// extended tells the host the term's new deadline.
func (m *Member) extended(c *contest, deadline record.Instant) {
	do := Extend{ID: c.election.ID, Deadline: deadline}
	if h, leads := c.healthOf(); leads && m.healthChanges(c, h) {
		do.Health = c.health // one effect is enough
	}
	m.out.add(do)
}

// notice tells the host how the renewals of the contest's term do, and what changed about that.
func (m *Member) notice(c *contest) {
	m.tendAlarm(c)
	m.publishRange(c)
	h, leads := c.healthOf()
	if leads && c.beats == 0 && m.healthChanges(c, h) || !leads && m.healthEnds(c) {
		m.out.add(Renewals{c.election.ID, c.health})
	}
	if !leads {
		c.forgetNotices()
		m.rewake(c)
		return
	}
	now := m.now
	tell := func(what Notice) {
		level := zap.InfoLevel // the failures were logged as they came
		if what == FailOpen {
			level = zap.WarnLevel
		}
		m.log.Log(level, "renewals: "+what.String(), zap.String("election", c.name()), zap.Uint64("term", uint64(c.token)),
			zap.Duration("sinceRenewal", now.Sub(h.Renewed).Round(time.Millisecond)))
		m.out.add(Noticed{c.election.ID, what, c.state.Role})
	}
	c.noticeAt = 0
	switch {
	case now < h.Jeopardy:
		if c.jeopardy {
			c.forgetNotices()
			tell(Regained)
		}
		if c.beats == 0 || m.late() { // else tendBeats comes here once a beat is late
			c.noticeAt = h.Jeopardy
		}
	case !c.jeopardy:
		c.jeopardy = true
		tell(Jeopardy)
	}
	switch {
	case h.Open == 0 || c.open:
	case now >= h.Open:
		c.open = true
		tell(FailOpen)
	case c.noticeAt == 0:
		c.noticeAt = h.Open
	}
	m.rewake(c)
}
