package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A migration moves an election from one lock to another while members of both kinds
// live: both locks are held, the old one first, and the election is led only while both
// are. The contest for the old lock is the outer one. Its work is that the inner one, for
// the election's own lock, may lead: the inner one is paused until the outer one's term
// starts, and again when it stops; and the outer one's work has stopped when the inner
// one's has. Whoever knows only one of the two locks is thus kept out by that one.

// migration is the contest for the old lock of c's election.
func (m *Member) migration(c *contest, from *LockRef) {
	outer := newContest(m, c.election, lockName{from.Locks, from.Lock})
	outer.inner, c.outer = c, outer
	outer.waiting = &waiting{}
	m.handle(c, machine.Paused{Reason: machine.ReasonOuterLost})
}

// extend lets the work go on for as long as every lock that it needs is valid.
func (m *Member) extend(c *contest) {
	if c.state.Role != machine.Leading {
		return
	}
	deadline := c.state.Term.Deadline
	if c.outer != nil {
		deadline = min(deadline, c.outer.state.Term.Deadline)
	}
	m.extended(c, deadline)
}

// mustStop says whether a term is on that is to be stopped by now for want of a renewal.
// Its Tick may be late where the host was held up.
func (c *contest) mustStop() bool {
	return c.state.Role == machine.Leading && c.m.now >= c.state.Term.Deadline.Add(-c.election.Timing.StopGrace)
}

// stopInner ends the inner contest's term, if there is one, for the outer one's sake.
func (c *contest) stopInner(a machine.Stop) []happening {
	c.waiting.by = a.By
	follows := []happening{{c.inner, machine.Paused{Reason: a.Reason}}}
	if !c.inner.atWork() {
		follows = append(follows, happening{c, machine.RunnersStopped{}})
	}
	return follows
}

// stopBy is by when the inner contest's work must be dead, for its own sake at own.
func (c *contest) stopBy(own record.Instant) record.Instant {
	if c.state.Role == machine.Draining {
		return c.waiting.by
	}
	return min(own, c.state.Term.Deadline)
}

// atWork says whether a term is on, or its work is still being stopped.
func (c *contest) atWork() bool {
	return c.state.Role == machine.Leading || c.state.Role == machine.Draining && !c.state.Drain.Stopped
}

// followsInner is what follows for an outer contest from what happened to its inner one.
func (c *contest) followsInner(h happening) []happening {
	switch h.event.(type) {
	case machine.RunnersStopped:
		if c.state.Role == machine.Draining && !c.state.Drain.Stopped {
			return []happening{{c, machine.RunnersStopped{}}}
		}
	case machine.RunnersFailed:
		if c.state.Role == machine.Leading {
			return []happening{{c, machine.RunnersFailed{}}} // never a lock held by nobody working
		}
	}
	return nil
}
