package election

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"go.uber.org/atomic"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// entrant is an election that this member takes part in, across incarnations.
type entrant struct {
	spec   spec
	runner Runner
	status *Status
	ranges *member.Ranges // nil without ranges
	// id identifies the election to the member.
	id member.ID
	// removal is nil until the election is to be given up.
	removal *removal
	// beyond is the runner's work outside its terms; nil if there is none, and before it begins.
	beyond *beyond
	// withdraw ends the work of an election that is disabled; nil otherwise.
	withdraw context.CancelCauseFunc
	// work is that of the last term; nil before the first one, and without a runner.
	work atomic.Pointer[work]
}

// beyond tracks the Background and Readiness of an election's runner.
type beyond struct {
	quit context.CancelFunc
	// goroutines counts those of the two that have not returned.
	goroutines int
	// toldAt is when the two were told to end; zero before. late complains if they have not after their grace.
	toldAt record.Instant
	late   *clock.Timer
}

// removal is why this member gives an election up; left is closed once it has.
type removal struct {
	why  machine.Reason
	left chan struct{}
}

// spec is a Spec with all defaults filled in.
type spec struct {
	Name        string
	Disabled    bool
	Lock        string
	Locks       lock.Store
	MigrateFrom *LockRef
	*member.Settings
}

// keptLocked returns what the manager keeps of a complete Spec. Elections that are added one after
// another with the same settings share one copy: there may be ten thousand.
func (m *Manager) keptLocked(s *Spec) spec {
	settings := member.Settings{
		Timing: s.Timing, Policy: s.Policy, Bootstrap: s.Bootstrap, Foreign: s.Foreign, Range: s.Range, Outage: s.Outage, OnDeath: s.OnDeath, Renewal: s.Renewal,
	}
	if m.settings == nil || !reflect.ValueOf(s.Policy).Comparable() || *m.settings != settings {
		m.settings = &settings
	}
	return spec{Name: s.Name, Disabled: s.Disabled, Lock: s.Lock, Locks: s.Locks, MigrateFrom: s.MigrateFrom, Settings: m.settings}
}

// end closes the status and ends what the runner does beyond its terms. The log says so if that does not end within the grace.
func (e *entrant) end(c clock.Clock, log *zap.Logger) {
	e.status.close()
	b := e.beyond
	if b == nil {
		return
	}
	b.quit()
	if b.goroutines == 0 {
		return
	}
	grace := e.spec.Timing.StopGrace
	b.toldAt = c.Now()
	b.late = clock.AfterFunc(grace, func() {
		log.Error("work beyond its terms goes on although it was told to end; an election that takes its place waits for it (see that the runner's Background and Readiness return)",
			zap.String("election", e.spec.Name), zap.Duration("grace", grace))
	})
}

// overdue is how long ago work beyond terms was told to end, if its grace is over; else zero. The manager's mu is held.
func (e *entrant) overdue(now record.Instant) time.Duration {
	b := e.beyond
	if b.goroutines == 0 || b.toldAt == 0 || now.Sub(b.toldAt) <= e.spec.Timing.StopGrace {
		return 0
	}
	return now.Sub(b.toldAt)
}

// lockName is a lock object of a realm.
type lockName struct {
	store lock.Store
	name  string
}

func (s *spec) lockName() lockName { return lockName{s.Locks, s.Lock} }

// lockNames are all locks that the election uses.
func (s *spec) lockNames() []lockName {
	if s.Disabled {
		return nil
	}
	if s.MigrateFrom == nil {
		return []lockName{s.lockName()}
	}
	return []lockName{{s.MigrateFrom.Locks, s.MigrateFrom.Lock}, s.lockName()}
}

// news is an election that was added or removed.
type news struct {
	entrant *entrant
	// removal is nil for one that was added.
	removal *removal
}

// noteLocked tells the host that an election was added or removed. Disabled ones do not concern it.
func (m *Manager) noteLocked(e *entrant) {
	if e.spec.Disabled {
		return
	}
	m.news = append(m.news, e)
	m.tell()
}

func (m *Manager) tell() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// all returns the present elections that are not disabled, in the order of their names.
func (m *Manager) all() []news {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.news = nil
	all := make([]news, 0, len(m.elections))
	for _, name := range slices.Sorted(maps.Keys(m.elections)) {
		if e := m.elections[name]; !e.spec.Disabled {
			all = append(all, news{e, e.removal})
		}
	}
	return all
}

// unread returns the elections that were added or removed since the last call.
func (m *Manager) unread() []news {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := make([]news, 0, len(m.news))
	for _, e := range m.news {
		found = append(found, news{e, e.removal})
	}
	m.news = nil
	return found
}
