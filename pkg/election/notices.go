package election

import (
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// What happens to a term while nobody answers: nothing is decided here, it is told.

// Event is what a Transition tells.
type Event int

const (
	// EventRole: this member's role changed, for the Reason.
	EventRole Event = iota + 1
	// EventLeader: another leader, or none, is seen.
	EventLeader
	// EventJeopardy: renewals fail, and half of the outage that a term survives is over. What
	// is cached on the strength of the term should not be relied on from here on.
	EventJeopardy
	// EventFailOpen: renewals fail, and the term goes on although its work would be stopped by
	// now without `outage: failopen`.
	EventFailOpen
	// EventRegained: after EventJeopardy the term was renewed; it was never interrupted.
	EventRegained
	// EventLost: the term ended, for the Reason, and this member did not give it up. What was
	// cached during it must be dropped.
	EventLost
)

func (e Event) String() string {
	switch e {
	case EventRole:
		return "role"
	case EventLeader:
		return "leader"
	case EventJeopardy:
		return "jeopardy"
	case EventFailOpen:
		return "failopen"
	case EventRegained:
		return "regained"
	case EventLost:
		return "lost"
	}
	return "invalid"
}

// givenUp are the reasons for which a member ends its own term while the lock is its.
var givenUp = map[machine.Reason]bool{
	machine.ReasonPreempted: true, machine.ReasonYielded: true, machine.ReasonFailed: true,
	machine.ReasonShutdown: true, machine.ReasonPaused: true, machine.ReasonRemoved: true,
}

// health is how well the renewals of the present term do. It does not change.
type health struct {
	// renewed is when the last committed renewal was sent.
	renewed record.Instant
	// jeopardy is when half of the outage is over; open, when stopping would begin that does
	// not in a term that fails open, else zero.
	jeopardy, open record.Instant
}

// notices are what was told of the present term.
type notices struct {
	jeopardy, open bool
	// at is when to look again; zero for never.
	at record.Instant
}

// health is that of the contest's term, of both locks where there are two.
func (c *contest) health() (h health, leads bool) {
	t := &c.entrant.spec.Timing
	valid := c.state.ValidUntil()
	if c.outer != nil {
		valid = min(valid, c.outer.state.ValidUntil())
	}
	if c.state.Role != machine.Leading || valid == 0 {
		return h, false
	}
	h.renewed = valid.Add(-t.Validity())
	h.jeopardy = h.renewed.Add(t.RenewInterval + t.Outage()/2)
	if c.failsOpen() {
		h.open = valid.Add(-t.StopGrace)
	}
	return h, true
}

// failsOpen says whether the election's terms outlast an outage.
func (c *contest) failsOpen() bool { return c.entrant.spec.Outage.Mode == machine.OutageFailOpen }

// publishHealth publishes how the present term does. All terms that the same beat renewed do
// alike, so one copy is enough.
func (r *realm) publishHealth(s *Status, h health, leads bool) {
	switch was := s.health.Load(); {
	case !leads && was != nil:
		s.health.Store(nil)
	case leads && (was == nil || *was != h):
		if r.health == nil || *r.health != h {
			kept := h // so that nothing is allocated where there is one already
			r.health = &kept
		}
		s.health.Store(r.health)
	}
}

// notice publishes how the contest's term does, and what changed about that.
func (r *realm) notice(c *contest) {
	r.tendAlarm(c)
	s := c.entrant.status
	c.publishRange()
	h, leads := c.health()
	r.publishHealth(s, h, leads)
	if !leads {
		c.notices = notices{}
		r.rewake(c)
		return
	}
	n, now := &c.notices, r.cfg.Clock.Now()
	tell := func(e Event) {
		t := Transition{At: r.cfg.Clock.Wall(), Event: e, Role: c.state.Role, Token: s.Token(), Cycle: s.Cycle()}
		level := zap.InfoLevel // what fails was logged as it failed
		if e == EventFailOpen {
			level = zap.WarnLevel
		}
		r.log.Log(level, "renewals: "+e.String(), zap.String("election", c.name()), zap.Uint64("term", uint64(t.Token)),
			zap.Duration("sinceRenewal", now.Sub(h.renewed).Round(time.Millisecond)))
		s.publish(t)
	}
	n.at = 0
	switch {
	case now < h.jeopardy:
		if n.jeopardy {
			*n = notices{}
			tell(EventRegained)
		}
		n.at = h.jeopardy
	case !n.jeopardy:
		n.jeopardy = true
		tell(EventJeopardy)
	}
	switch {
	case h.open == 0 || n.open:
	case now >= h.open:
		n.open = true
		tell(EventFailOpen)
	case n.at == 0:
		n.at = h.open
	}
	r.rewake(c)
}

// rewake sets the contest's timer to what comes first.
func (r *realm) rewake(c *contest) {
	at := c.tickAt
	if n := c.notices.at; n != 0 && (at == 0 || n < at) {
		at = n
	}
	if c.alarm != nil && (at == 0 || c.alarm.at < at) {
		at = c.alarm.at
	}
	if w := c.waiting.at(); w != 0 && (at == 0 || w < at) {
		at = w
	}
	if at != c.wakeAt || at != 0 && c.slot == notQueued {
		r.timers.set(c, at)
	}
}

// woken does what the contest's timer was set for.
func (r *realm) woken(c *contest, now record.Instant) {
	if c.tickAt != 0 && c.tickAt <= now {
		c.tickAt = 0
		r.handle(c, machine.Tick{})
	} else {
		if c.inner != nil {
			r.tendMove(c)
		}
		r.notice(c)
	}
	r.rewake(c)
}
