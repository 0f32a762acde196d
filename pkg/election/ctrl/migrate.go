package ctrl

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// MigrateFrom makes it a rolling update to come from a manager that elects by itself, and to go back to it. It holds one more election,
// whose lock is the Lease of that manager: spec.Lock is its manager.Options.LeaderElectionID, and spec.Locks the store of its
// LeaderElectionNamespace. Controllers work only while this process leads that election as well, so during the move one process has all
// controllers at work. Call it before Add. Leave it out, by another rolling update, when no process is left that elects by itself.
//
// Managers of controller-runtime are electors of client-go: spec.Foreign says so, unless it says something else. Give its Wait: if it is
// zero, nobody works for four leases after such a manager was killed. Objects that a Stamped client writes meanwhile carry the
// token of that election, too.
func (e *Elections) MigrateFrom(spec election.Spec) (*election.Status, error) {
	switch {
	case spec.Disabled:
		return nil, fmt.Errorf("election %s: the controllers migrate from it, and it is disabled: they would not wait for the process that has its lock (leave Disabled out)", spec.Name)
	case spec.Lock == "":
		return nil, fmt.Errorf("election %s: the controllers migrate from it, and it has no lock (set Lock to the LeaderElectionID of the managers that elect by themselves)", spec.Name)
	case e.from != nil:
		return nil, fmt.Errorf("election %s: this manager migrates from election %s already", spec.Name, e.from.status.Election())
	case len(e.elections.Statuses()) > 0:
		return nil, fmt.Errorf("election %s: a controller was added before MigrateFrom, and would not wait for it (call MigrateFrom first)", spec.Name)
	}
	if spec.Foreign.Sharing == election.NotShared {
		spec.Foreign.Sharing = election.SharedWithClientGo
	}
	p := &predecessor{news: make(chan struct{}), lock: e.lockOf(spec), timing: e.timingOf(spec)}
	status, err := e.elections.Add(spec, election.RunnerFunc(p.lead))
	if err != nil {
		return nil, err
	}
	p.status, e.from = status, p
	return status, nil
}

// lockOf is the lock of an election that is added.
func (e *Elections) lockOf(spec election.Spec) election.LockRef {
	return election.LockRef{Lock: cmp.Or(spec.Lock, spec.Name), Locks: cmp.Or(spec.Locks, e.locks)}
}

// timingOf is the timing of an election that is added.
func (e *Elections) timingOf(spec election.Spec) record.Timing {
	all, _ := record.Profile(record.DefaultProfile)
	if e.timing != (record.Timing{}) {
		all = e.timing.Filled(all)
	}
	if spec.Timing == (record.Timing{}) {
		return all
	}
	return spec.Timing.Filled(all)
}

// followed is the timing of a controller that migrates. It moves as soon as the predecessor has moved, whose preemptDelay and minHold have
// passed by then.
func followed(t record.Timing) record.Timing {
	t.PreemptDelay, t.MinHold = 0, 0
	return t
}

// has says whether another lock is the same Lease. Two stores may be of one namespace, which a Manager does not see.
func (p *predecessor) has(other election.LockRef) bool {
	if p.lock.Lock != other.Lock {
		return false
	}
	where, isLease := namespaceOf(p.lock.Locks)
	there, otherIs := namespaceOf(other.Locks)
	return isLease && otherIs && where == there || p.lock.Locks == other.Locks
}

// namespaceOf is where a store has Leases; false if it has none.
func namespaceOf(s lock.Store) (namespace string, isLease bool) {
	switch s := s.(type) {
	case *lease.Store:
		return s.Namespace(), true
	case *lease.SharedStore:
		return s.Namespace(), true
	}
	return "", false
}

// predecessor is the election in which the manager's controllers were before each had one of its own.
type predecessor struct {
	status *election.Status
	lock   election.LockRef
	timing record.Timing

	mu   sync.Mutex
	news chan struct{} // closed when present changes
	// present is the term that is on; nil while none is.
	present *shared
	// stayed is the leader for which a controller last waited in vain, until stayedAt.
	stayed   election.Leader
	stayedAt record.Instant
	// seen is the leader that a controller saw last; seenAt is when one saw that leader first.
	seen   election.Leader
	seenAt record.Instant
}

// leads is for how long the leader has led, as far as we know. Status goes by the wall clock, which somebody may set back, so we
// count ourselves, too.
func (p *predecessor) leads(leader election.Leader) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock.Boottime().Now()
	if p.seen != leader {
		p.seen, p.seenAt = leader, now
	}
	return max(time.Since(p.status.LeaderSince()), now.Sub(p.seenAt))
}

// shared is a term of the predecessor, within which controllers work.
type shared struct {
	ctx   context.Context
	gate  *fence.Gate
	works sync.WaitGroup
}

// lead is the work of the predecessor's term. It returns once all controllers have stopped, since the lock is released then.
func (p *predecessor) lead(ctx context.Context, term election.Term) error {
	now := &shared{ctx: ctx, gate: fence.For(term)}
	p.tell(now)
	<-ctx.Done()
	p.tell(nil)
	now.works.Wait()
	return nil
}

func (p *predecessor) tell(now *shared) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.present = now
	close(p.news)
	p.news = make(chan struct{})
}

// now returns the present term or nil, and a channel that is closed when there is another one.
func (p *predecessor) now() (*shared, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.present, p.news
}

// handsOver is how long a member that leads the predecessor may need to hand it over. Both elections move at once, and either may
// come first.
const handsOver = 2 * time.Second

// patience is how long a controller waits while another member leads the predecessor. One that has just begun to lead will lead on, and so
// will one for which a controller waited in vain. Another one may be dead, and its renewals lapse one by one; or its work takes long to stop.
func (p *predecessor) patience(other election.Leader) time.Duration {
	leads := p.leads(other)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch lease := p.timing.LeaseDuration; {
	case other == p.stayed && clock.Boottime().Now().Sub(p.stayedAt) < lease:
		return 0
	case leads < lease:
		return handsOver
	}
	return max(handsOver, p.timing.StopGrace+p.timing.RenewInterval)
}

// stays notes that a controller waited for this leader in vain.
func (p *predecessor) stays(leader election.Leader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stayed, p.stayedAt = leader, clock.Boottime().Now()
}

// enter waits for a term, and counts one more controller at work within it; nil once ctx has ended. It returns an error if another
// member leads, and goes on to.
func (p *predecessor) enter(ctx context.Context, me string) (*shared, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changes := p.status.Watch(watching)
	now := clock.Boottime()
	begun := now.Now()
	again := clock.NewTimer(handsOver)
	defer again.Stop()
	for ours := false; ; {
		p.mu.Lock()
		present, news := p.present, p.news
		on := present != nil && present.ctx.Err() == nil
		if on {
			present.works.Add(1)
		}
		p.mu.Unlock()
		if on {
			return present, nil
		}
		switch other := p.status.Leader(); {
		case other.Identity == me:
			ours = true
		case record.OurForm(other.Identity):
			waited := now.Now().Sub(begun)
			if ours { // it may have taken long to stop: the next one asks for this lock now
				waited = p.leads(other)
			}
			left := p.patience(other) - waited
			if left <= 0 {
				p.stays(other)
				return nil, fmt.Errorf("%s leads election %s, from which the controllers migrate", other.Identity, p.status.Election())
			}
			again.Reset(left)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-news:
		case _, open := <-changes:
			if !open { // the election is removed
				changes = nil
			}
		case <-again.C:
		}
	}
}

// migrating is a controller's work while the manager migrates.
type migrating struct {
	*work
	from *predecessor
}

// Run implements election.Runner. When the predecessor moves, the controller keeps its lock, without work, until the member that leads now asks
// for it, or this one leads again. To give the term up would count as a failure.
func (m *migrating) Run(ctx context.Context, term election.Term) error {
	for {
		within, err := m.from.enter(ctx, term.Identity)
		if within == nil {
			return err
		}
		if err := m.worksWithin(ctx, term, within); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// worksWithin works until ctx or a term of the predecessor ends.
func (m *migrating) worksWithin(ctx context.Context, term election.Term, within *shared) error {
	defer within.works.Done()
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(within.ctx, func() { cancel(context.Cause(within.ctx)) })()
	return m.during(both, term, within.gate)
}

// Readiness implements election.Readiness. Elections that move go to the member that leads the predecessor.
func (m *migrating) Readiness(ctx context.Context, report func(problem error)) error {
	waits := fmt.Errorf("this process does not lead election %s, from which the controllers migrate", m.from.status.Election())
	for {
		now, news := m.from.now()
		if now != nil {
			report(nil)
		} else {
			report(waits)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		}
	}
}
