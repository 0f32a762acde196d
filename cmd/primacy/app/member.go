package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/internal/bounded"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/metrics"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
	"github.com/primacy-dev/primacy/pkg/runners/parent/burial"
)

// member is this process's part in a group.
type member struct {
	process *config.Process
	// name is the Pod's or host's name.
	name    string
	manager *election.Manager
	planner planner
	// cluster reaches the API server, which says who may read the endpoints, and core is a client for it, which writes
	// Events; nil in tests without an API server.
	cluster *rest.Config
	core    coreclient.EventsGetter
	// pods has the Pod of this process; nil in tests without an API server. labels are the elections with a label.
	pods   coreclient.PodsGetter
	labels *labelled
	// source is the source of the default revision, which a reload may replace; steering combines it
	// with pins and the rollout.
	source   *revisions.Switch
	steering *steering.Source
	// figures and roster describe the elections that were added to manager.
	figures figures
	roster  *roster
	grants  *grants
	// reloads and requests count those of this member; requests is nil without a cluster.
	reloads  reloads
	requests *metrics.Requests
	// listeners run beside the manager: they hear what others say of dead members, or remove sessions that ended.
	listeners []listener
	clock     clock.Clock
	log       *zap.Logger
}

// newMember assembles a member of a cluster. It starts nothing.
func newMember(ctx context.Context, kinds *runners.Registry, p *config.Process, c *cluster, name string, line *parent.Line, log *zap.Logger) (*member, error) {
	locks, err := newStores(c.config, c.namespace, ownedByPod(c.namespace, name, os.Getenv, log)...)
	if err != nil {
		return nil, err
	}
	sources, err := sourcesIn(c.config)
	if err != nil {
		return nil, err
	}
	core, err := apiserver.ClientFor(c.config, coreclient.NewForConfigAndClient)
	if err != nil {
		return nil, fmt.Errorf("client for pins and rollouts: %w", err)
	}
	w := wiring{
		process: p, name: name, maps: core, clock: clock.Boottime(),
		planner: planner{runners: kinds, sources: sources, locks: locks, namespace: c.namespace, log: log},
	}
	if line != nil {
		w.parent = line
		burying, stop := context.WithTimeout(ctx, buryingLeft)
		burial.EndLeft(burying, locks.sessions(), line, log)
		stop()
	}
	if w.hearing, err = newHearing(ctx, p, c, name, locks.sessions(), log); err != nil {
		return nil, err
	}
	m, plan, err := w.member(ctx)
	if err != nil {
		return nil, err
	}
	m.core, m.pods, m.name = core, core, name
	m.cluster, m.requests = c.config, c.requests
	m.grants = &grants{cluster: c, process: p, name: name, log: log, known: required(needs(p, name, plan.source))}
	return m, nil
}

// buryingLeft is how long a start may take to end the sessions of members that died in the same place.
const buryingLeft = 2 * time.Second

// wiring holds the parts of a member.
type wiring struct {
	process *config.Process
	planner planner
	name    string
	// maps hold pins and the rollout.
	maps  coreclient.ConfigMapsGetter
	clock clock.Clock
	// abort and parent are those of election.Config.
	abort  func(error)
	parent election.Parent
	// hearing has the words that end the session; nil for those that need no place.
	hearing *hearing
}

// member assembles a member and its plan. It starts nothing.
func (w wiring) member(ctx context.Context) (*member, *plan, error) {
	p := w.process
	m := &member{process: p, name: w.name, planner: w.planner, clock: w.clock, log: w.planner.log, roster: newRoster(), labels: newLabelled()}
	plan, err := m.planner.plan(ctx, p.Configuration)
	if err != nil {
		return nil, nil, err
	}
	m.source = revisions.NewSwitch(plan.source)
	m.steering = steering.New(w.maps, m.planner.namespace, p.Group, m.source, m.clock, m.log)
	me := p.Configuration.Member
	if w.hearing == nil {
		w.hearing = &hearing{words: withoutPlace(me.Proofs)}
	}
	m.listeners = slices.Clone(w.hearing.listeners)
	if s := m.sweeper(); s != nil {
		m.listeners = append(m.listeners, s)
	}
	m.manager, err = election.NewManager(election.Config{
		Group:       p.Group,
		Member:      election.Member{Revision: me.Revision, Location: me.Location, Weight: me.Weight},
		Locks:       m.planner.locks.sessions(),
		Host:        w.name,
		Timing:      p.Configuration.Timing,
		Version:     version,
		Preferences: m.steering,
		Clock:       w.clock,
		Log:         m.log,
		Abort:       w.abort,
		Parent:      w.parent,
		Proofs:      w.hearing.words,
		Container:   w.hearing.self.Container,
		Announce:    w.hearing.announce(),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%w (is the name right? --name sets it)", err)
	}
	if c := m.controller(w.maps); c != nil {
		if _, err := m.manager.Add(c.spec, c.runner); err != nil {
			return nil, nil, err
		}
		m.roster.own = []election.Spec{c.spec}
	}
	return m, plan, m.add(plan)
}

// add takes part in the elections of the configuration.
func (m *member) add(p *plan) error {
	for _, e := range p.elections {
		if _, err := m.manager.Add(e.spec, e.runner); err != nil {
			return err
		}
		m.figures.add(e.spec.Name, e.figures)
	}
	m.roster.set(p)
	m.labels.set(p)
	return nil
}

// reloader makes the member follow its file.
func (m *member) reloader() *reloader {
	return &reloader{
		planner: m.planner, elections: m.manager, source: m.source, roster: m.roster, labels: m.labels, figures: &m.figures, counts: &m.reloads, log: m.log,
		inForce: m.process.Configuration,
	}
}

// besideGrace is how long a member waits for what runs beside its manager, after the manager has ended.
const besideGrace = 2 * time.Second

// run takes part, and follows the configuration, until ctx ends. What follows files may wait for a disk that does not
// answer: run leaves it behind then, and its goroutine ends with the process.
func (m *member) run(ctx context.Context) error {
	following, stop := context.WithCancel(ctx)
	present, leave := context.WithCancel(context.WithoutCancel(ctx)) // it ends after the manager
	var wg sync.WaitGroup
	defer wg.Wait()
	defer leave()
	defer stop()
	beside := func(what string, f func()) {
		wg.Go(func() {
			if err := bounded.Call(present, besideGrace, func() error { f(); return nil }); err != nil {
				m.log.Error("something beside the manager does not end, and is left behind (does a disk not answer?)",
					zap.String("what", what), zap.Duration("grace", besideGrace), zap.Error(err))
			}
		})
	}
	if m.process.Configuration.HTTP.Served() {
		endServing, err := m.serve(ctx)
		if err != nil {
			return err
		}
		defer endServing()
	}
	beside("reloads of the configuration", func() {
		r := m.reloader()
		defer r.telling.Wait()
		r.permits = m.grants.check
		if err := r.follow(following, m.process); err != nil {
			m.log.Error("the configuration is not followed any more; restart to take up changes", zap.Error(err))
		}
	})
	defer m.record()()
	defer m.label(os.Getenv)()
	for _, l := range m.listeners {
		beside(fmt.Sprintf("%T", l), func() { l.Run(following) })
	}
	err := m.manager.Run(ctx)
	if errors.Is(err, election.ErrOrphaned) {
		return fmt.Errorf("%w, so this member has left (somebody or the kernel killed the parent; start the member again)", err)
	}
	return err
}
