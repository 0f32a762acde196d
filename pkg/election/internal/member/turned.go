package member

import (
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Two members that migrate an election in opposite directions may hold one lock each and wait for the
// other. A reload refuses to reverse a migration, but a process that starts cannot know that it reverses
// one. So a member that has held the old lock for long, while another member holds the new one, releases
// the old one for a while. That is safe: it is an ordinary release, of a lock without work. The same goes for a
// member that cannot write the new lock, or does not see it, since another one may be able to. If nobody takes the old lock then, the
// member takes it again: only a write can tell whether it may write the new lock by now.

// waiting is the state of the wait for the new lock, in the contest for the old lock of a migration.
type waiting struct {
	// till is when this member releases the old lock. until is when it tries to take the old lock again
	// after that. Each is zero while it does not apply.
	till, until record.Instant
	// look is when that wait ends early. If another member held the new lock, it is when that one counts as gone if it stays
	// silent. Else it is when nobody will have held the old lock for a leaseDuration.
	look record.Instant
	// holder held the new lock when this member last let go; empty if the member let go because it could not write or see
	// that lock. times counts how often it let go.
	holder string
	times  int
	told   bool
	// failing: our last write of the new lock failed.
	failing bool
	// by is by when the inner contest's work must be dead once the outer one's term ends.
	by record.Instant
}

// mostWaits is for how many leaseDurations, at least, a member holds the old lock while another member
// holds the new one, or while it cannot write or see the new one.
const mostWaits = 2

// at is when to look again; zero for never.
func (w *waiting) at() record.Instant {
	if w.look != 0 {
		return min(w.look, w.until)
	}
	return max(w.till, w.until)
}

// heldByAnother says whether another member holds the lock. till is until when that member counts as the
// holder if it stays silent; zero if its session decides that.
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

// tendMove pauses c, the contest for the old lock, or resumes it.
func (m *Member) tendMove(c *contest) {
	w, now := c.waiting, m.now
	patience := mostWaits * c.election.Timing.LeaseDuration
	some := func(d time.Duration) record.Instant { return now.Add(d + time.Duration(m.jitter()*float64(d))) }
	held, till := c.inner.heldByAnother()
	held = held && (till == 0 || now < till)
	switch stuck := held || w.failing || c.inner.state.Behind(); {
	case m.going.has(c):
		w.till, w.until = 0, 0
	case w.until != 0:
		if w.holder != "" {
			w.look = till
		} else {
			w.look = c.leftAlone(some)
		}
		if now >= w.until || w.holder != "" && !held || w.look != 0 && now >= w.look {
			w.until, w.look = 0, 0
			m.handle(c, machine.Resumed{})
		} else {
			c.tellOpposite(m.log)
		}
	case c.inner.state.Role == machine.Leading:
		*w = waiting{told: w.told, failing: w.failing, by: w.by}
	case c.state.Role != machine.Leading || !stuck:
		w.till = 0
	case w.till == 0:
		w.till = some(patience)
	case now >= w.till:
		w.till, w.until, w.holder = 0, some(record.Doubled(patience, w.times)), ""
		if held {
			w.holder = c.inner.state.Lock.Record.Holder
		}
		w.times++
		m.handle(c, machine.Paused{Reason: machine.ReasonWaits})
	}
	m.rewake(c)
}

// leftAlone is when nobody will have held c's lock, the old one, for a leaseDuration; zero while somebody may hold it for
// long. some adds chance to a time from now on.
func (c *contest) leftAlone(some func(time.Duration) record.Instant) record.Instant {
	lease := c.election.Timing.LeaseDuration
	switch held, till := c.heldByAnother(); {
	case held && till != 0:
		return till.Add(lease)
	case c.state.Lock.Owner != machine.Nobody && c.state.Lock.Owner != machine.Free && c.state.Lock.Owner != machine.Orphaned:
		return 0
	case c.waiting.look != 0:
		return c.waiting.look
	}
	return some(lease)
}

// tellOpposite warns once if the holder of the new lock takes the old one as well: that member migrates
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
