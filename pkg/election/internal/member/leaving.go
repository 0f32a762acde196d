package member

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// stepAside is how long at most we delay a write that nobody waits for, to let writes that move
// leadership go first: a store syncs one write after the other. A leaving member waits that long before
// it publishes that it is not ready: if work stops at once, its releases tell the others earlier. It also
// waits that long for nominees to take the released locks before it ends its session.
const stepAside = 50 * time.Millisecond

// leave gives up everything: each contest stops its work and releases its lock, then the session ends.
func (m *Member) leave(why machine.Reason) {
	if m.leaving != "" {
		return
	}
	m.leaving = why
	m.log.Info(Leaving, zap.String("reason", string(why)))
	m.giveUpAt, m.unreadyAt = m.now.Add(m.cfg.Timing.LeaseDuration), m.now.Add(stepAside)
	for _, c := range m.contests.all { // nor must it look like a candidate for these once they are dropped
		if c.unlisted() && !m.unready.has(c) {
			m.unready.add(c)
			m.lacks[c] = record.NoList
		}
	}
	m.contests.each(func(c *contest) { m.resign(c, why) })
}

func (m *Member) resign(c *contest, why machine.Reason) {
	m.going.add(c)
	m.handle(c, machine.Resign{Reason: why})
}

// handOver makes a member that leaves for good wait a moment until the nominee has taken the released
// lock. Skipped if we outrank the nominee: a nominee of an earlier version ignores that our release says we
// leave, and would hand the lock straight back while our session says that we are ready.
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

// takenOver ends the wait for a nominee if the stream shows that another member took the lock.
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

// releasedOneByOne is how many locks at most a leaving member releases one by one, each to a named
// successor. The end of its session frees all at once.
const releasedOneByOne = laneSize

// letGo says whether the end of the session may replace the releases that we have not written yet: that is
// so if no work goes on any more, we still hold many locks through our session, and each take under way is of a lock
// that the session's end frees (rule answer-for-your-writes). letGo then drops all contests.
func (m *Member) letGo() bool {
	if len(m.contests.all) <= releasedOneByOne || !m.own.Joined() {
		return false // to end a lost session frees nothing
	}
	held := 0
	for _, c := range m.contests.all {
		switch {
		case c.outer != nil, c.atWork(), c.state.TakesByRecord():
			return false
		case c.holdsThroughSession() && c.state.HeldBack(c.config(), m.now):
			return false // somebody else may be at work
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
