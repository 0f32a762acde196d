package ctrl

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/fence"
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
	case e.from != nil:
		return nil, fmt.Errorf("election %s: this manager migrates from election %s already", spec.Name, e.from.status.Election())
	case len(e.elections.Statuses()) > 0:
		return nil, fmt.Errorf("election %s: a controller was added before MigrateFrom, and would not wait for it (call MigrateFrom first)", spec.Name)
	}
	if spec.Foreign.Sharing == election.NotShared {
		spec.Foreign.Sharing = election.SharedWithClientGo
	}
	p := &predecessor{news: make(chan struct{})}
	status, err := e.elections.Add(spec, election.RunnerFunc(p.lead))
	if err != nil {
		return nil, err
	}
	p.status, e.from = status, p
	return status, nil
}

// predecessor is the election in which the manager's controllers were before each had one of its own.
type predecessor struct {
	status *election.Status

	mu   sync.Mutex
	news chan struct{} // closed when present changes
	// present is the term that is on; nil while none is.
	present *shared
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

// enter waits for a term, and counts one more controller at work within it; nil once ctx has ended. It returns an error if another
// member leads, and goes on to.
func (p *predecessor) enter(ctx context.Context, me string) (*shared, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changes := p.status.Watch(watching)
	patience := clock.NewTimer(handsOver)
	defer patience.Stop()
	for over := false; ; {
		p.mu.Lock()
		now, news := p.present, p.news
		if now != nil {
			now.works.Add(1)
		}
		p.mu.Unlock()
		if now != nil {
			return now, nil
		}
		if other := p.status.Leader().Identity; over && other != me && record.OurForm(other) {
			return nil, fmt.Errorf("%s leads election %s, from which the controllers migrate", other, p.status.Election())
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-news:
		case <-changes:
		case <-patience.C:
			over = true
		}
	}
}

var errPredecessor = errors.New("this process no longer leads the election from which the controllers migrate")

// migrating is a controller's work while the manager migrates.
type migrating struct {
	*work
	from *predecessor
}

// Run implements election.Runner.
func (m migrating) Run(ctx context.Context, term election.Term) error {
	within, err := m.from.enter(ctx, term.Identity)
	if within == nil {
		return err
	}
	defer within.works.Done()
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(within.ctx, func() { cancel(context.Cause(within.ctx)) })()
	if err := m.during(both, term, within.gate); err != nil || ctx.Err() != nil {
		return err
	}
	return errPredecessor
}

// Readiness implements election.Readiness. Elections that move go to the member that leads the predecessor.
func (m migrating) Readiness(ctx context.Context, report func(problem error)) error {
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
