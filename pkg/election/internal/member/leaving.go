package member

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// stepAside is for how long at most a write that nobody waits for makes way for those that
// move leadership: a store syncs one after the other. A leaving member says so late that it is
// not ready any more, since a release says more where work stops at once; its session ends only
// when the nominees have taken what it released.
const stepAside = 50 * time.Millisecond

// leave gives up everything: each election stops and is released, then the session ends.
func (m *Member) leave(why machine.Reason) {
	if m.leaving != "" {
		return
	}
	m.leaving = why
	m.log.Info(Leaving, zap.String("reason", string(why)))
	m.giveUpAt, m.unreadyAt = m.now.Add(m.cfg.Timing.LeaseDuration), m.now.Add(stepAside)
	m.contests.each(func(c *contest) { m.resign(c, why) })
}

func (m *Member) resign(c *contest, why machine.Reason) {
	m.going.add(c)
	m.handle(c, machine.Resign{Reason: why})
}

// handOver takes in that a contest is over: a member that leaves for good waits a moment for
// the nominee of the lock that it released. Skipped if we outrank the nominee: one of an earlier
// version ignores that our release says we leave, and would hand the lock straight back while our
// session says that we are ready.
func (m *Member) handOver(c *contest) {
	l := &c.state.Lock
	if m.leaving != machine.ReasonShutdown || l.Owner != machine.Free {
		return
	}
	i := slices.IndexFunc(m.view.Peers, func(p machine.Peer) bool { return p.Identity == l.Record.HandoverTo })
	if i < 0 {
		return
	}
	me, nominee := c.config().Member, m.view.Peers[i].Member
	if !priority.Outranks(c.election.Policy, priority.Weighed(me), priority.Weighed(nominee), c.preferred.revision) {
		m.handed[c.lock], m.handedBy = true, m.now.Add(stepAside)
	}
}

// takenOver takes in what the stream shows of a lock that was given up.
func (m *Member) takenOver(s *stream, e lock.Entry) {
	if len(m.handed) > 0 && (e.Record == nil || e.Record.Holder != "" && e.Record.Holder != m.identity) {
		delete(m.handed, lockName{s.store, e.Name})
	}
}

// endsSession says whether the session of a leaving member may end now.
func (m *Member) endsSession() bool {
	if m.now >= m.handedBy {
		clear(m.handed)
		m.handedBy = 0
	}
	return m.leaving != "" && (len(m.contests.all) == 0 && len(m.handed) == 0 || m.letGo())
}

// releasedOneByOne is up to how many locks a leaving member releases each by itself, which
// names a successor for each. The end of its session frees all at once.
const releasedOneByOne = laneSize

// letGo says whether the end of the session may stand for the releases that are still to
// be written: nothing is at work any more, and what is left are many locks that it holds
// through its session.
func (m *Member) letGo() bool {
	if len(m.contests.all) <= releasedOneByOne || !m.own.Joined() {
		return false // a session that was lost frees nothing
	}
	held := 0
	for _, c := range m.contests.all {
		switch {
		case c.outer != nil, c.atWork():
			return false
		case c.holdsThroughSession():
			held++
		case c.state.Lock.Owner == machine.Mine:
			return false
		}
	}
	if held <= releasedOneByOne {
		return false
	}
	m.log.Info("ending the session instead of releasing each lock", zap.Int("locks", held))
	m.queue.forget()
	for _, c := range m.contests.all {
		m.drop(c)
	}
	m.contests.clear()
	return true
}
