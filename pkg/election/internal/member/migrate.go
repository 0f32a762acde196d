package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A migration moves an election from one lock to another while some members know only one of them. A
// member leads only while it holds both locks; it takes the old one first. So it keeps out members that
// know only one of the locks, whichever that is.
//
// The outer contest is for the old lock, the inner contest for the election's own lock. The inner contest
// is the outer one's work: it is paused except during the outer one's term, and when the inner contest's
// work has stopped, so has the outer one's.

// migration adds the contest for the old lock of c's election.
func (m *Member) migration(c *contest, from *LockRef) {
	outer := newContest(m, c.election, lockName{from.Locks, from.Lock})
	outer.inner, c.outer = c, outer
	outer.waiting = &waiting{}
	m.handle(c, machine.Paused{Reason: machine.ReasonOuterLost})
}

// extendInner lets the work go on for as long as both locks are valid. The inner contest's lock alone is valid until
// the deadline.
func (m *Member) extendInner(inner *contest, deadline record.Instant) {
	m.extended(inner, min(deadline, inner.outer.state.Term.Deadline))
}

// mustStop says whether the contest has a term that must stop by now because no renewal came. Its Tick
// may be late: the host may have been held up.
func (c *contest) mustStop() bool {
	return c.state.Role == machine.Leading && c.m.now >= c.state.Term.Deadline.Add(-c.election.Timing.StopGrace)
}

// stopInner ends the inner contest's term, if any, because the outer one's ends.
func (c *contest) stopInner(a machine.Stop) []happening {
	c.waiting.by = a.By
	follows := []happening{{c.inner, machine.Paused{Reason: a.Reason}}}
	if !c.inner.atWork() {
		follows = append(follows, happening{c, machine.RunnersStopped{}})
	}
	return follows
}

// stopBy, of an outer contest, is by when the inner contest's work must be dead; own is by when the inner
// contest's lock alone demands that.
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

// followsInner returns the events for an outer contest that follow from an event of its inner one.
func (c *contest) followsInner(h happening) []happening {
	switch h.event.(type) {
	case machine.RunnersStopped:
		switch {
		case c.state.Role == machine.Draining && !c.state.Drain.Stopped:
			return []happening{{c, machine.RunnersStopped{}}}
		case c.state.Role == machine.Leading:
			// The inner term ended by itself, so the outer one must end, too: the next term of both must have
			// a token that is new to members that know only the old lock (rule tokens-rise).
			return []happening{{c, machine.WorkExpired{}}}
		}
	case machine.RunnersFailed:
		if c.state.Role == machine.Leading {
			return []happening{{c, machine.RunnersFailed{}}} // do not hold a lock without work
		}
	}
	return nil
}
