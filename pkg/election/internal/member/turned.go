package member

import (
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Members that move an election in opposite directions may hold one lock each and wait for the
// other. A reload refuses to turn a move round, but a process that starts cannot know. So whoever
// has held the old lock for long, while another member holds the new one, lets go of the old one for a
// while. Nobody works beside another by that: the old lock is released as ever, and it had no work.

// waiting is what the contest for the old lock of a migration keeps of its wait for the new one.
type waiting struct {
	// till is when this member lets go, and until is till when it leaves the old lock alone then;
	// zero while it does neither.
	till, until record.Instant
	// look is when the holder of the new lock will have been silent for as long as it may be.
	look record.Instant
	// holder had the new lock when this member let go, which it did that many times.
	holder string
	times  int
	told   bool
	// by is by when the work under the new lock must be dead once the old one is let go.
	by record.Instant
}

// mostWaits is for how many leaseDurations the old lock is held, at least, while another member
// holds the new one.
const mostWaits = 2

// at is when to look again; zero for never.
func (w *waiting) at() record.Instant {
	if w.look != 0 {
		return min(w.look, w.until)
	}
	return max(w.till, w.until)
}

// heldByAnother says whether a member other than this one holds the lock, and until when it
// does if nothing more is heard of it; zero where its session tells.
func (c *contest) heldByAnother() (held bool, till record.Instant) {
	l := &c.state.Lock
	if l.Owner != machine.Other {
		return false, 0
	}
	if !l.ThroughSession() {
		till = l.LastSign().Add(c.election.Timing.Among(c.m.others).ObserverWait(l.Record.Mark.Duration))
	}
	return true, till
}

// tendMove lets go of the old lock, or comes back to it. c is the contest for it.
func (m *Member) tendMove(c *contest) {
	w, now := c.waiting, m.now
	patience := mostWaits * c.election.Timing.LeaseDuration
	some := func(d time.Duration) record.Instant { return now.Add(d + time.Duration(m.jitter()*float64(d))) }
	held, till := c.inner.heldByAnother()
	switch held = held && (till == 0 || now < till); {
	case m.going.has(c):
		w.till, w.until = 0, 0
	case w.until != 0 && (now >= w.until || !held):
		w.until, w.look = 0, 0
		m.handle(c, machine.Resumed{})
	case w.until != 0:
		w.look = till
		c.tellOpposite(m.log)
	case c.inner.state.Role == machine.Leading:
		*w = waiting{told: w.told, by: w.by}
	case c.state.Role != machine.Leading || !held:
		w.till = 0
	case w.till == 0:
		w.till = some(patience)
	case now >= w.till:
		w.till, w.until, w.holder = 0, some(record.Doubled(patience, w.times)), c.inner.state.Lock.Record.Holder
		w.times++
		m.handle(c, machine.Paused{Reason: machine.ReasonWaits})
	}
	m.rewake(c)
}

// tellOpposite warns once, if the holder of the new lock takes the old one as well: it moves
// the election the other way.
func (c *contest) tellOpposite(log logger) {
	w, l := c.waiting, &c.state.Lock
	if w.told || l.Owner != machine.Other || l.Record.Holder != w.holder {
		return
	}
	w.told = true
	log.Warn("members move this election in opposite directions, so each may hold one of its locks and nobody leads for some leaseDurations; give all members the same lock and migrateFrom",
		zap.String("election", c.name()), zap.String("other", w.holder))
}
