package member

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// enter takes part in elections that the host added.
func (m *Member) enter(added []*Election) {
	var fresh set[*stream]
	for _, e := range added {
		switch {
		case m.releasesStray(e):
			m.postponed = append(m.postponed, e) // settle enters it later
		case m.leaving == "":
			for _, s := range m.add(e) {
				fresh.add(s)
			}
		}
	}
	for _, s := range fresh.list {
		m.include(s)
	}
}

// remove gives up an election.
func (m *Member) remove(id ID, why machine.Reason) {
	c := m.contests.of[id]
	if c == nil {
		m.postponed = slices.DeleteFunc(m.postponed, func(e *Election) bool { return e.ID == id })
		m.out.add(Forgotten{id})
		return
	}
	if c.outer != nil {
		m.resign(c.outer, why)
	}
	m.resign(c, why)
}

// add takes part in an election, and returns the streams that must list its locks.
func (m *Member) add(election *Election) []*stream {
	c := newContest(m, election, election.lockName())
	m.contests.add(c)
	if c.failsOpen() {
		m.open[c] = false
	}
	m.setup.add(election)
	if election.Renewal.Of(false) == record.RenewalSession {
		m.longestGrace = max(m.longestGrace, election.Timing.StopGrace)
	}
	if from := election.MigrateFrom; from != nil {
		m.migration(c, from)
	}
	if election.Unready {
		m.unready.add(c)
		m.lacks[c] = election.Lacks
	}
	var streams []*stream
	c.each(func(c *contest) {
		m.unpublished.add(c)
		s := m.streamOf(c.lock.store)
		s.byLock[c.lock.name] = c
		c.preferred = m.preferenceOf(c)
		m.handle(c, machine.PreferenceChanged{})
		m.handle(c, machine.DirectoryChanged{View: m.view})
		if !m.showAbsent(s, c) {
			streams = append(streams, s)
		}
	})
	return streams
}

// settle drops the resigned elections whose machines owe nothing any more (machine.State.Settled), and says
// whether it dropped any.
func (m *Member) settle() (dropped bool) {
	stray := false
	for _, c := range m.going.all() {
		if !c.state.Settled(c.config(), m.now) {
			continue
		}
		if c.inner != nil && m.going.has(c.inner) {
			continue // the inner contest is the outer one's work
		}
		m.handOver(c)
		m.drop(c)
		dropped = true
		if c.outer != nil && m.going.has(c.outer) {
			continue
		}
		m.contests.remove(c)
		stray = stray || c.stray
		if m.leaving != "" {
			continue // no need to update the session: it ends, too
		}
		if !c.stray {
			m.setup.remove(c.election)
			m.out.add(Forgotten{c.election.ID})
		}
	}
	if dropped && len(m.contests.all) == 0 {
		// Locks with ranges may have used up the time, so this leaves some for the session's end.
		m.giveUpAt = max(m.giveUpAt, m.now.Add(m.cfg.Timing.RenewInterval))
	}
	if stray { // an election may be waiting for this lock
		given := m.postponed
		m.postponed = nil
		m.enter(given)
	}
	return dropped
}

// drop ends a contest. We ignore what still arrives for it.
func (m *Member) drop(c *contest) {
	c.over = true
	delete(m.sendings, c)
	c.forgetNotices()
	m.timers.set(c, 0)
	m.trouble.forget(c.lock)
	m.going.remove(c)
	m.dimmed.remove(c)
	m.heedful.remove(c)
	m.unpublished.remove(c)
	if c.beats != 0 {
		c.beats = 0
		m.byBeats--
	}
	m.closed(c)
	if m.leaving == "" { // a leaving member must not look like a candidate again
		m.lowered.remove(c)
		m.unready.remove(c)
		delete(m.lacks, c)
	}
	s := m.streamOf(c.lock.store)
	delete(s.byLock, c.lock.name)
	s.absences.notes(c.lock.name, c.name())
	for _, other := range m.streams {
		if other != s {
			other.absences.gaveUp(c.name())
		}
	}
	yet := c.state.MayYetTake() || !c.listed && m.gone[c.lock].mayYetTake // of a contest before this one
	m.gone[c.lock] = gone{c.state.LastBeat(), c.election, yet}
	m.keepUnshown(c)
}
