package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/all"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

const (
	groupName = "edge"
	own       = "rollout-edge"
	uid       = "00c0ffee00c0ffee"
	// longest is how long a test waits for anything.
	longest = 90 * time.Second
)

var timing = record.Timing{
	LeaseDuration: 6 * time.Second, RenewInterval: time.Second, StopGrace: time.Second,
	NominateDelay: time.Second, StandDown: 30 * time.Second, Drift: record.DefaultDrift,
}

// group is a namespace with the members of a group, and an operator who watches the group.
type group struct {
	*testing.T
	namespace string
	config    *rest.Config
	core      *coreclient.CoreV1Client
	elections []string
	plans     *steering.Source
	locks     *sight
}

// member is one member of a group.
type member struct {
	*group
	name, revision string
	// fails is the election in which the member's runners fail; cut makes its requests fail.
	fails *atomic.Pointer[string]
	// mute makes only its changes of the plan fail.
	cut, mute *atomic.Bool
	// mended gets an entry each time the member's controller replaces a status that somebody else
	// changed.
	mended <-chan struct{}
	// plans is the member's own source, if it follows one.
	plans *steering.Source
	stop  func()
	// puts counts the member's writes of the plan.
	puts *atomic.Int64
}

func newGroup(t *testing.T, elections int) *group {
	t.Helper()
	cluster := devcluster.Start(t)
	g := &group{T: t, namespace: cluster.Namespace(t), config: cluster.Config}
	for i := range elections {
		g.elections = append(g.elections, fmt.Sprintf("e%d", i))
	}
	g.core = g.client(cluster.Config)
	g.plans = steering.New(g.core, g.namespace, groupName, revisions.NewSwitch(nil), clock.Boottime(), nil)
	g.beside(func(ctx context.Context) error { return g.plans.Watch(ctx, func(election.Preference) {}) })
	g.locks = newSight()
	store := g.store(cluster.Config)
	g.beside(func(ctx context.Context) error { return store.Watch(ctx, g.locks.take) })
	return g
}

// beside runs a function in the background until the test ends, or until the caller calls stop.
func (g *group) beside(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { // joined by stop
		defer close(done)
		if err := run(ctx); err != nil && ctx.Err() == nil {
			g.Errorf("%v", err)
		}
	}()
	stop = func() { cancel(); <-done }
	g.Cleanup(stop)
	return stop
}

func (g *group) client(c *rest.Config) *coreclient.CoreV1Client {
	g.Helper()
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		g.Fatal(err)
	}
	core, err := coreclient.NewForConfigAndClient(c, client)
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { utilnet.CloseIdleConnectionsFor(client.Transport) })
	return core
}

func (g *group) store(c *rest.Config) *lease.Store {
	g.Helper()
	client, err := lease.NewClient(c)
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(client.CloseIdleConnections)
	return lease.In(client, g.namespace)
}

// wire transports the requests of a member.
type wire struct {
	*member
	next http.RoundTripper
}

func (w wire) WrappedRoundTripper() http.RoundTripper { return w.next }

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	plan := r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, rollout.ObjectName(groupName))
	switch {
	case w.cut.Load(), plan && w.mute.Load():
		return nil, errCut
	case plan:
		w.puts.Add(1)
	}
	return w.next.RoundTrip(r)
}

var errCut = errors.New("cut off by the test")

// hearing returns a log, and a channel that gets an entry for each line that contains the snippet.
func hearing(snippet string) (*zap.Logger, <-chan struct{}) {
	heard := make(chan struct{}, 64)
	core, _ := observer.New(zap.InfoLevel)
	return zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		if strings.Contains(e.Message, snippet) {
			heard <- struct{}{}
		}
		return nil
	})), heard
}

// join adds a member of the revision to the group.
func (g *group) join(name, revision string) *member {
	g.Helper()
	log, mended := hearing("edited or removed the rollout's status")
	m := &member{group: g, name: name, revision: revision, fails: new(atomic.Pointer[string]), cut: new(atomic.Bool), mute: new(atomic.Bool), puts: new(atomic.Int64), mended: mended}
	c := m.wired()
	client := g.client(c)
	locks := g.store(c)
	byDefault := revisions.NewSwitch(configmap.New(client, configmap.Key{Namespace: g.namespace, Name: "revisions", Key: "default"}, log))
	plans := steering.New(client, g.namespace, groupName, byDefault, clock.Boottime(), log)
	manager, err := election.NewManager(election.Config{
		Group: groupName, Member: election.Member{Revision: revision}, Locks: locks, Host: name, Timing: timing, Preferences: plans, Log: log,
	})
	if err != nil {
		g.Fatal(err)
	}
	m.plans = plans
	driver := m.driver(c, byDefault, log)
	m.add(manager, own, driver)
	for _, e := range g.elections {
		m.add(manager, e, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			if failing := m.fails.Load(); failing != nil && *failing == term.Election {
				return errors.New("the runner fails")
			}
			<-ctx.Done()
			return nil
		}))
	}
	m.stop = g.beside(manager.Run)
	g.locks.await(g.T, name+" is ready", func(s *sight) bool { return s.ready[name] })
	return m
}

// wired returns a client configuration that uses the member's wire.
func (m *member) wired() *rest.Config {
	c := rest.CopyConfig(m.config)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return wire{m, next} })
	return c
}

// driver returns a controller that follows the member's plans.
func (m *member) driver(c *rest.Config, byDefault revisions.Writer, log *zap.Logger) *controller.Controller {
	m.Helper()
	locks := m.store(c)
	var roster []election.Spec
	for _, e := range append([]string{own}, m.elections...) {
		roster = append(roster, election.Spec{Name: e, Lock: e, Locks: locks})
	}
	never := make(chan struct{})
	return controller.New(controller.Config{
		Group: groupName, Sessions: locks, Timing: timing, Plans: m.plans, Maps: m.client(c).ConfigMaps(m.namespace), Checks: all.Registry(),
		Default: byDefault, Log: log, Elections: func() ([]election.Spec, <-chan struct{}) { return roster, never },
	})
}

func (m *member) add(manager *election.Manager, name string, r election.Runner) {
	m.Helper()
	if _, err := manager.Add(election.Spec{Name: name, Bootstrap: election.BootstrapImmediate}, r); err != nil {
		m.Fatal(err)
	}
}

// say changes the stored plan, as an operator does.
func (g *group) say(word func(rollout.Plan) (rollout.Plan, error)) {
	g.Helper()
	err := steering.Edit(g.Context(), g.core.ConfigMaps(g.namespace), groupName, func(p *rollout.Plan) (err error) {
		*p, err = word(*p)
		return err
	})
	if err != nil {
		g.Fatal(err)
	}
}

// start begins a rollout from red to green.
func (g *group) start(steps ...rollout.Step) {
	g.Helper()
	g.say(func(p rollout.Plan) (rollout.Plan, error) {
		return p.Start(rollout.Spec{UID: uid, Stable: "red", Canary: "green", Steps: steps, AcquireTimeout: longest}, time.Now())
	})
}

// plan waits until ok holds for the plan.
func (g *group) plan(what string, ok func(rollout.Plan) bool) rollout.Plan {
	g.Helper()
	late := clock.NewTimer(longest).C
	for {
		s, changed := g.plans.Sight()
		if s.Plan != nil && ok(*s.Plan) {
			return *s.Plan
		}
		select {
		case <-changed:
		case <-late:
			g.Fatalf("%s: waited in vain; the plan is %+v\nstatus %+v\nled %v", what, s.Plan, s.Plan.Status, g.locks.leaders())
		}
	}
}

// phase waits for a phase in a step; step zero means any step.
func (g *group) phase(phase rollout.Phase, step int) rollout.Plan {
	g.Helper()
	return g.plan(fmt.Sprintf("%s in step %d", phase, step), func(p rollout.Plan) bool {
		return p.Status.Of(p.Rollout) && p.Status.Phase == phase && (step == 0 || p.Status.Step == step)
	})
}

// led waits until red and green lead the given numbers of elections, the controller's own included.
func (g *group) led(red, green int) {
	g.Helper()
	g.locks.await(g.T, fmt.Sprintf("%d red, %d green", red, green), func(s *sight) bool {
		n := map[string]int{}
		for _, holder := range s.holders {
			n[revisionOf(holder)]++
		}
		return n["red"] == red && n["green"] == green
	})
}

// revisionOf returns the revision of a member, with which its name begins.
func revisionOf(holder string) string {
	revision, _, _ := strings.Cut(holder, "-")
	return revision
}
