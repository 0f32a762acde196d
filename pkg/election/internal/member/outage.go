package member

import (
	"maps"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// After an outage the holder of a term that fails open must be the first to write. Otherwise another
// member could take the lock, and both would work until the holder saw that. So the others leave such a
// lock alone while they see no beats of their own session, and for two renewIntervals after the beats are
// back. Only their own beats show in time that the store is away: streams of other kinds of lock may be
// quiet for any time.

// failsOpen says whether the election's terms outlast an outage.
func (c *contest) failsOpen() bool { return c.election.Outage.Mode == machine.OutageFailOpen }

// broken handles a stream that shows nothing any more.
func (m *Member) broken(s *stream) {
	s.cut = true
	m.holdOff(s, func(*contest) time.Duration { return machine.OutageUnbounded })
}

// whole handles a stream that shows everything again but what the store denies.
func (m *Member) whole(s *stream) {
	if !s.cut {
		return
	}
	s.cut = false
	m.holdOff(s, func(c *contest) time.Duration {
		if s.denies(c.lock.name) {
			return machine.OutageUnbounded
		}
		return c.firstWrite()
	})
}

// firstWrite is the time that a holder gets for its first write after an outage: to the lock, or
// to its session, which lists its term. The election and the session each have a renewInterval; the longer
// one counts.
func (c *contest) firstWrite() time.Duration {
	return max(2*max(c.election.Timing.RenewInterval, c.m.cfg.Timing.RenewInterval), c.longerLease())
}

// longerLease is the holder's leaseDuration if it is longer than ours; else zero. It covers two of the
// holder's renewIntervals, and one of its extensions (record.Timing.Check). The duration of an elector that is
// not ours is no leaseDuration of a member, whether it holds the lock or has released it.
func (c *contest) longerLease() time.Duration {
	l := &c.state.Lock
	if l.Owner == machine.Foreign || l.Owner == machine.Free && !l.Record.Bound() {
		return 0
	}
	if theirs := min(l.Duration(), record.MaxLeaseDuration); theirs > c.election.Timing.LeaseDuration {
		return theirs
	}
	return 0
}

// lastWork is how long after an outage the work of a holder may go on if its member died during the
// outage or before its first write: the holder may have extended its term just before.
func (c *contest) lastWork() time.Duration {
	return c.election.Timing.Among(c.m.others).ObserverWait(c.firstWrite() + c.extension())
}

// tendOpen keeps the session's list of elections in which this member has terms that may fail open. The
// session lists a term from its beginning: once renewals fail, it may be too late. A leaving member does
// not update the list, which ends with the session.
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

// openTerms returns the names of the elections in which we have a term that may fail open, as our session
// publishes them. Many such terms may begin at once, so we build the list only when we publish it.
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

// heldOpen says whether the lock's holder lives, and its session lists a term of this election that may fail
// open: maybe the holder does not renew because writes to this lock alone hang, for all members. A holder
// with too many such terms lists EveryElection; that counts only if the election fails open in our
// configuration. The holder may list the election by the name in its own configuration, which the record shows.
func (c *contest) heldOpen() bool {
	r, holder := c.state.Lock.Record, c.holder()
	return holder != nil && (holder.KeepsOpen(c.name()) || holder.KeepsOpen(r.Election)) && (c.failsOpen() || !slices.Contains(holder.Open, record.EveryElection))
}

// holder is the member that holds the lock, if it lives; else nil.
func (c *contest) holder() *machine.Peer {
	identity := c.state.Lock.Record.Holder
	for i := range c.m.view.Peers {
		if p := &c.m.view.Peers[i]; p.Identity == identity {
			return p
		}
	}
	return nil
}

// lastHeard is the last sign of life of the lock's holder; false if we never heard of it, or no longer know.
func (c *contest) lastHeard() (sign, bool) {
	l := &c.state.Lock
	r := l.Record
	if s := c.m.heard[l.Session()]; s.of == r.Holder {
		return s, true
	}
	s, known := c.m.unheardOf[r.Holder]
	return s, known
}

// unheard notes that a session has another owner, or is gone. While its former owner holds a lock whose terms fail open, unheard keeps
// when we last heard of it.
func (m *Member) unheard(session string) {
	was := m.heard[session]
	delete(m.heard, session)
	holds := func(identity string) bool {
		held := false
		m.contests.each(func(c *contest) {
			r := c.state.Lock.Record
			held = held || c.failsOpen() && r != nil && r.Holder == identity
		})
		return held
	}
	maps.DeleteFunc(m.unheardOf, func(identity string, _ sign) bool { return !holds(identity) })
	if was.of != "" && holds(was.of) {
		m.unheardOf[was.of] = was
	}
}

// holdOff forbids us for d to take those locks of the stream whose terms fail open.
func (m *Member) holdOff(s *stream, d func(*contest) time.Duration) {
	for _, name := range slices.Sorted(maps.Keys(s.byLock)) {
		if c := s.byLock[name]; c.failsOpen() {
			c.heldOff = m.now.Add(d(c))
			m.handle(c, machine.Tick{}) // the machine may have set its timer by the old instant
		}
	}
}

// leastSilence is how long we must see no beat of ours before we suspect that the store is away: one beat
// may fail.
func (m *Member) leastSilence() time.Duration { return 2 * m.cfg.Timing.RenewInterval }

// silent says whether the store may be away.
func (m *Member) silent() bool { return m.now.Sub(m.beat.Sent) > m.leastSilence() }

// awaitsHolder is the earliest instant at which we may take a lock whose holder may fail open; zero for
// at once. The holder's session must have ended or list no such term. If it has lapsed, the stream must have shown a beat of ours that
// was sent later: else we may have missed the holder's. Our beats must have come without a gap for as long as the holder's work may go
// on, and the holder must have written nothing. They must also have come for as long as an outage that is too short to be noticed may
// have held its first write up: another outage may follow that one. The last extension of a holder that died must be over.
func (c *contest) awaitsHolder() record.Instant {
	l, m := &c.state.Lock, c.m
	switch {
	case l.Owner != machine.Other || l.ThroughSession():
		return 0
	case c.heldOpen():
		return m.now.Add(machine.OutageUnbounded) // we look again when the holder's session changes
	case !c.failsOpen():
		return 0
	}
	holder := l.Record.Holder
	lives := c.holder() != nil || holder == m.identity || m.dir.LivesElsewhere(m.now, l.Session(), holder, c.name(), l.Record.Election)
	if !lives && !m.dir.Over(l.Session(), holder) ||
		m.beat.Sent < max(l.LastSign().Add(c.firstWrite()+m.leastSilence()), m.soundSince.Add(c.lastWork())) {
		return m.now.Add(machine.OutageUnbounded) // we look again at the next beat
	}
	if last, heard := c.lastHeard(); heard && !lives {
		return last.at.Add(c.lastExtension(last))
	}
	return 0
}

// lastExtension is how long after that last sign of life of a dead holder its work may go on: the holder may have extended its term
// until just before its next beat.
func (c *contest) lastExtension(last sign) time.Duration {
	beats := c.m.cfg.Timing.RenewInterval
	if last.timings != c.m.timings() {
		beats = max(beats, last.lasts/2) // two renewIntervals fit into a session (record.Timing.Check)
	}
	return c.election.Timing.Among(c.m.others).ObserverWait(beats + c.extension())
}

// extension bounds by how much the holder extends a term that fails open at a time. We know no timing of another member but its
// leaseDuration, which covers an extension (record.Timing.Check).
func (c *contest) extension() time.Duration {
	ours := max(c.election.Timing.Extension(), c.longerLease())
	if last, heard := c.lastHeard(); heard && last.timings == c.m.timings() {
		return ours
	}
	return max(ours, min(c.state.Lock.Duration(), record.MaxLeaseDuration))
}

// outlasts says whether the store may be away while a term of ours goes on all the same. In that case our
// session must not end because of a lock that we cannot release.
func (m *Member) outlasts() bool { return m.silent() && m.outlasting() }

// spares says whether we must not end the named session yet: its owner holds a lock whose terms fail open,
// and may have been cut off as we were. The owner may come back until our own beats have come without a gap
// for leastSilence.
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
