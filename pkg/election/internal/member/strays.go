package member

import (
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// stray takes up a lock that this incarnation holds although it takes part in no election for it: a
// write that was given up was carried out after all. It is released (rule answer-for-your-writes):
// nothing else would free it while our session lives.
func (m *Member) stray(s *stream, e lock.Entry) *contest {
	rec := e.Record
	if rec == nil || rec.Holder != m.identity || !rec.Bound() || !rec.ThroughSession() || m.leaving != "" {
		return nil
	}
	name := lockName{s.store, e.Name}
	if m.isDisowned(name, e) {
		return nil
	}
	// Only what we wrote ourselves: a stranger's copy of one of our locks is none of ours.
	was := m.gone[name]
	if b := rec.Mark.Beat; b == 0 || b > was.beat || rec.Mark.SessionUID != m.beat.UID {
		return nil
	}
	m.log.Warn(Stray, zap.String("lock", e.Name))
	m.strays--
	election := *was.election
	election.ID, election.Lock, election.Locks, election.MigrateFrom = ID(m.strays), name.name, name.store, nil
	election.Works, election.Ranges = false, nil // what its session renews has no range
	c := newContest(m, &election, name)
	c.stray = true
	m.contests.add(c)
	s.byLock[e.Name] = c
	m.resign(c, machine.ReasonRemoved)
	return c
}

// gone is what is kept of a lock whose election was given up: the number of the last write to it,
// since none is used twice should the election come back, and what that election was.
type gone struct {
	beat     uint64
	election *Election
}

// releasesStray says whether a lock of the election is a stray that is being released.
func (m *Member) releasesStray(e *Election) bool {
	for _, l := range e.lockNames() {
		if c := m.streamOf(l.store).byLock[l.name]; c != nil && c.stray {
			return true
		}
	}
	return false
}
