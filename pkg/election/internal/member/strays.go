package member

import (
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// stray releases a lock that this incarnation holds although it takes part in no election for it: the
// store carried out a write late, after we had given the election up (rule answer-for-your-writes).
// Nothing else would free the lock while our session lives. stray returns the contest that releases it.
func (m *Member) stray(s *stream, e lock.Entry) *contest {
	rec := e.Record
	if !m.keepsThroughSession(rec) || m.leaving != "" {
		return nil
	}
	name := lockName{s.store, e.Name}
	if m.isDisowned(name, e) {
		return nil
	}
	// Another store may lead to the same lock. What we hold there is then the business of the contest there.
	if m.contestOf(name) != nil {
		return nil
	}
	// Only what we wrote ourselves: a stranger may have copied one of our records.
	was := m.goneOf(name)
	if b := rec.Mark.Beat; b == 0 || b > was.beat || rec.Mark.SessionUID != m.beat.UID {
		return nil
	}
	m.log.Warn(Stray, zap.String("lock", e.Name))
	m.strays--
	election := *was.election
	election.ID, election.Lock, election.Locks, election.MigrateFrom = ID(m.strays), name.name, name.store, nil
	election.Works, election.Ranges = false, nil // a lock that a session renews has no range
	c := newContest(m, &election, name)
	c.stray = true
	m.contests.add(c)
	s.byLock[e.Name] = c
	m.resign(c, machine.ReasonRemoved)
	return c
}

// keepsThroughSession says whether a lock with this record is ours for as long as our session lives.
func (m *Member) keepsThroughSession(r *record.Record) bool {
	return r != nil && r.Holder == m.identity && r.Bound() && r.ThroughSession()
}

// gone is what we keep of a lock whose election was given up: the election, and the number of our last
// write to the lock. If the election comes back, it must not use a number twice.
type gone struct {
	beat     uint64
	election *Election
	// mayYetTake: a take of ours had no certain answer then.
	mayYetTake bool
}

// releasesStray says whether a lock of the election is a stray that is being released.
func (m *Member) releasesStray(e *Election) bool {
	for _, l := range e.lockNames() {
		if c := m.contestOf(l); c != nil && c.stray {
			return true
		}
	}
	return false
}
