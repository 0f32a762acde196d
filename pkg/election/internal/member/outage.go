package member

import (
	"maps"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// After an outage the holder of a term that fails open must be the first to write, or two
// would work until it saw who was faster. So the others leave such a lock alone while they
// see nothing, and for two of its renewal intervals after that. What they see are beats of
// their own session: nothing else shows in time that a store says nothing any more, and
// streams of other kinds of lock may be quiet for as long as they like.

// failsOpen says whether the election's terms outlast an outage.
func (c *contest) failsOpen() bool { return c.election.Outage.Mode == machine.OutageFailOpen }

// broken takes in that a stream shows nothing any more.
func (m *Member) broken(s *stream) {
	s.cut = true
	m.holdOff(s, func(*contest) time.Duration { return machine.OutageUnbounded })
}

// whole takes in that it shows everything again.
func (m *Member) whole(s *stream) {
	if s.cut {
		s.cut = false
		m.holdOff(s, (*contest).firstWrite)
	}
}

// firstWrite is the time that a holder gets for its first write after an outage: of the lock, or
// of its session, which says that it is at work. The slower of both renewal intervals counts.
func (c *contest) firstWrite() time.Duration {
	return max(2*max(c.election.Timing.RenewInterval, c.m.cfg.Timing.RenewInterval), c.longerLease())
}

// longerLease is the leaseDuration of a holder that has a longer one than we; else zero. Neither two of
// its renewal intervals nor one of its extensions is longer than that (record.Timing.Check).
func (c *contest) longerLease() time.Duration {
	if theirs := c.state.Lock.Duration(); theirs > c.election.Timing.LeaseDuration {
		return theirs
	}
	return 0
}

// lastWork is how long after an outage the work of a holder may go on that died in it, or before its
// first write: it may have been extended just then.
func (c *contest) lastWork() time.Duration {
	t := c.election.Timing.Among(c.m.others)
	return t.ObserverWait(c.firstWrite() + max(t.Extension(), c.longerLease()))
}

// tendOpen lists in the session the elections in which this member has terms that fail open. It
// says so from the beginning of a term: it may not be able to once renewals fail. Who leaves
// changes nothing any more: the list goes with the session.
func (m *Member) tendOpen(c *contest) {
	listed, fails := m.open[c]
	if on := c.atWork(); fails && on != listed && m.leaving == "" {
		m.open[c], m.openStale = on, true
	}
}

// closed forgets a contest that is over.
func (m *Member) closed(c *contest) {
	listed := m.open[c]
	delete(m.open, c)
	m.openStale = m.openStale || listed && m.leaving == ""
}

// openTerms is what our session lists of the terms that fail open. Many may begin at once, so the
// list is made when it is published.
func (m *Member) openTerms() []string {
	if !m.openStale {
		return m.openNow
	}
	var list []string
	bytes := 0
	for c, on := range m.open {
		if on {
			list = append(list, c.name())
			bytes += len(c.name())
		}
	}
	if bytes > maxListed {
		list = []string{record.EveryElection}
	}
	slices.Sort(list)
	m.openNow, m.openStale = list, false
	return list
}

// heldOpen says whether the lock's holder lives, and says that its term of this election fails
// open: what hangs may be writes of this lock alone, for all of us. A holder with too many such
// terms to list says so of all of them; that counts only where terms fail open.
func (c *contest) heldOpen() bool {
	holder := c.state.Lock.Record.Holder
	return slices.ContainsFunc(c.m.view.Peers, func(p machine.Peer) bool {
		return p.Identity == holder && p.KeepsOpen(c.name()) && (c.failsOpen() || !slices.Contains(p.Open, record.EveryElection))
	})
}

// holdOff keeps the stream's locks whose terms fail open from being taken for a while.
func (m *Member) holdOff(s *stream, d func(*contest) time.Duration) {
	for _, name := range slices.Sorted(maps.Keys(s.byLock)) {
		if c := s.byLock[name]; c.failsOpen() {
			c.heldOff = m.now.Add(d(c))
			m.handle(c, machine.Tick{}) // it may be waiting for another instant
		}
	}
}

// leastSilence is without a beat of ours for how long the store may be away: one may fail.
func (m *Member) leastSilence() time.Duration { return 2 * m.cfg.Timing.RenewInterval }

// silent says whether the store may be away.
func (m *Member) silent() bool { return m.now.Sub(m.beat.Sent) > m.leastSilence() }

// awaitsHolder is the earliest instant at which a lock may be taken whose holder may fail
// open: the holder's session has ended or lists no such term, beats have come through without a
// gap for as long as its work may have gone on after that, and it wrote nothing. An outage that is
// too short to be noticed must be over, too.
func (c *contest) awaitsHolder() record.Instant {
	l, m := &c.state.Lock, c.m
	switch {
	case l.Owner != machine.Other || l.ThroughSession():
		return 0
	case c.heldOpen():
		return m.now.Add(machine.OutageUnbounded) // what the session says brings us back
	case !c.failsOpen():
		return 0
	}
	wrote := l.LastSign()
	if m.beat.Sent < max(wrote.Add(c.firstWrite()), m.soundSince.Add(c.lastWork())) {
		return m.now.Add(machine.OutageUnbounded) // the next beat brings us back
	}
	return wrote.Add(c.firstWrite() + m.leastSilence())
}

// outlasts says whether a term of ours outlasts an outage that is on: our session must not end
// then for what cannot be released.
func (m *Member) outlasts() bool { return m.silent() && m.outlasting() }

// spares says whether the session of that name is not to be ended yet: its owner holds a lock
// whose terms fail open, and may have been away for as long as we were. It gets the same time
// to come back as for its first write of such a lock.
func (m *Member) spares(name string) bool {
	if m.beat.Sent >= m.soundSince.Add(m.leastSilence()) {
		return false
	}
	owner := m.view.Sessions[name].Holder
	for c := range m.open {
		if l := &c.state.Lock; l.Owner == machine.Other && l.Record.Holder == owner {
			return true
		}
	}
	return false
}
