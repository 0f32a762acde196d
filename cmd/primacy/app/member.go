package app

import (
	"context"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/metrics"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
	"github.com/primacy-dev/primacy/pkg/runners"
	runnermetrics "github.com/primacy-dev/primacy/pkg/runners/metrics"
)

// member is this process's part in a group.
type member struct {
	process *config.Process
	manager *election.Manager
	planner planner
	// source is the default source, which a reload may exchange; steering combines it with
	// pins and the rollout.
	source   *revisions.Switch
	steering *steering.Source
	// figures and roster are those of the elections that were added.
	figures figures
	roster  *roster
	log     *zap.Logger
}

// newMember wires a member together. It starts nothing.
func newMember(kinds *runners.Registry, p *config.Process, c *cluster, name string, log *zap.Logger) (*member, error) {
	locks, err := newStores(c.config, c.namespace)
	if err != nil {
		return nil, err
	}
	sources, err := sourcesIn(c.config)
	if err != nil {
		return nil, err
	}
	m := &member{process: p, log: log, roster: &roster{changed: make(chan struct{})}, planner: planner{
		runners: kinds, sources: sources, locks: locks, namespace: c.namespace, log: log,
	}}
	plan, err := m.planner.plan(p.Configuration)
	if err != nil {
		return nil, err
	}
	m.source = revisions.NewSwitch(plan.source)
	core, err := coreclient.NewForConfig(c.config)
	if err != nil {
		return nil, fmt.Errorf("client for pins and rollouts: %w", err)
	}
	m.steering = steering.New(core, c.namespace, p.Group, m.source, log)
	me := p.Configuration.Member
	m.manager, err = election.NewManager(election.Config{
		Group:       p.Group,
		Member:      election.Member{Revision: me.Revision, Location: me.Location, Weight: me.Weight},
		Locks:       locks.of(config.DefaultLockKind, config.SharedWithNobody),
		Host:        name,
		Timing:      p.Configuration.Timing,
		Preferences: m.steering,
		Log:         log,
	})
	if err != nil {
		return nil, fmt.Errorf("%w (is the name right? --name sets it)", err)
	}
	return m, m.add(m.withController(plan.elections, core))
}

func (m *member) add(elections []planned) error {
	for _, e := range elections {
		if _, err := m.manager.Add(e.spec, e.runner); err != nil {
			return err
		}
		if e.figures != nil { // not so for what we run ourselves
			m.figures.add(e.spec.Name, e.figures)
		}
		if e.suffix == "" {
			m.roster.add(e.spec)
		}
	}
	return nil
}

// collectors are what this member shows to Prometheus.
func (m *member) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		metrics.Of(m.manager),
		runnermetrics.Of(&m.figures),
		freshness("default", m.steering.Default),
		freshness("plan", m.steering.Freshness),
	}
}

// run takes part until ctx ends, and follows the configuration meanwhile.
func (m *member) run(ctx context.Context) error {
	following, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	if at := m.process.Configuration.Metrics; at.IsValid() {
		wait, err := serveMetrics(following, at, m.collectors(), m.log)
		if err != nil {
			return err
		}
		defer wait()
		defer stop()
	}
	wg.Go(func() {
		r := &reloader{member: m, ctx: following, current: m.process.Configuration}
		if err := m.process.Watch(following, r.deliver); err != nil {
			m.log.Error("the configuration is not followed any more; restart to take up changes", zap.Error(err))
		}
	})
	return m.manager.Run(ctx)
}
