package controller_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/mapstest"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/all"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// crowd is a group in a synctest bubble: real members, with real controllers, over stores in memory.
type crowd struct {
	*testing.T
	clock clocktest.Bubble
	// clocks are the clocks of members that have one of their own.
	clocks map[string]*setClock
	// leases is the store of sessions and most locks; others is the store of another kind of lock.
	leases, others *memory.Realm
	maps           *mapstest.Maps
	mixed          []mixed
	members        []*citizen
	log            *zap.Logger

	mu sync.Mutex
	// at records who works in each election; twice lists the cases in which two members worked at
	// once.
	at    map[string]map[string]bool
	twice []string
	// failing maps an election to the revision whose runners fail in it.
	failing map[string]string
	// behind are members to join that see no plan.
	behind []string
}

// citizen is one member of a crowd.
type citizen struct {
	*crowd
	election.Member
	name    string
	manager *election.Manager
	leases  *memory.Store
	others  *memory.Store
	plans   *steering.Source
	stop    func()

	mu      sync.Mutex
	roster  []election.Spec
	changed chan struct{}
}

func newCrowd(t *testing.T, elections ...mixed) *crowd {
	t.Helper()
	clock := clocktest.Bubble{}
	c := &crowd{
		T: t, clock: clock, leases: memory.New(clock), others: memory.New(clock), maps: mapstest.New(), mixed: elections,
		log: zap.NewNop(), at: map[string]map[string]bool{}, failing: map[string]string{},
	}
	t.Cleanup(c.leave)
	if testing.Verbose() {
		c.log, _ = zap.NewDevelopment(zap.IncreaseLevel(zap.WarnLevel), zap.WithClock(wall{}), zap.WithCaller(false), zap.AddStacktrace(zap.DPanicLevel))
	}
	c.preferRed(c.maps)
	return c
}

// preferRed makes red the default revision.
func (c *crowd) preferRed(maps *mapstest.Maps) {
	c.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "revisions"}, Data: map[string]string{"default": "red"}}
	if _, err := maps.Create(c.Context(), cm, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
}

type wall struct{}

func (wall) Now() time.Time                       { return time.Now() }
func (wall) NewTicker(time.Duration) *time.Ticker { panic("the log writes at once") }

// join starts members. A name begins with its member's revision: red-1, green-2.
func (c *crowd) join(weight int, names ...string) {
	c.Helper()
	for _, name := range names {
		m := &citizen{
			crowd: c, name: name, Member: election.Member{Revision: revisionOf(name), Weight: weight},
			leases: c.leases.Store(), others: c.others.Store(), changed: make(chan struct{}),
		}
		maps := c.maps
		if slices.Contains(c.behind, name) {
			maps = mapstest.New()
			c.preferRed(maps)
		}
		byDefault := revisions.NewSwitch(configmap.New(maps, configmap.Key{Namespace: "edge", Name: "revisions", Key: "default"}, nil))
		m.plans = steering.New(maps, "edge", groupName, byDefault, c.clockOf(name), nil)
		var err error
		m.manager, err = election.NewManager(election.Config{
			Group: groupName, Host: name, Member: m.Member, Locks: m.leases, Timing: timing, Preferences: m.plans, Clock: c.clockOf(name),
			Log: c.log.With(zap.String("member", name)),
		})
		if err != nil {
			c.Fatal(err)
		}
		driver := controller.New(controller.Config{
			Group: groupName, Sessions: m.leases, Timing: timing, Elections: m.elections, Plans: m.plans, Maps: c.maps,
			Checks: all.Registry(), Default: byDefault, Clock: c.clockOf(name), Log: c.log.With(zap.String("controller", name)),
		})
		m.add(election.Spec{Name: own, Lock: own, Locks: m.leases, Bootstrap: election.BootstrapImmediate}, driver)
		for _, e := range c.mixed {
			m.take(e)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- m.manager.Run(ctx) }()
		m.stop = func() {
			cancel()
			if err := <-done; err != nil {
				c.Errorf("%s: %v", name, err)
			}
		}
		c.members = append(c.members, m)
	}
}

// take adds one of the elections to the member.
func (m *citizen) take(e mixed) {
	m.Helper()
	spec := election.Spec{Name: e.name, Lock: e.name, Locks: m.leases, Bootstrap: election.BootstrapImmediate, Policy: e.policy}
	if e.bend != nil {
		e.bend(m, &spec)
	}
	m.add(spec, election.RunnerFunc(m.work))
}

func (m *citizen) add(spec election.Spec, r election.Runner) {
	m.Helper()
	if _, err := m.manager.Add(spec, r); err != nil {
		m.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.roster = append(slices.Clip(m.roster), spec)
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *citizen) remove(name string) {
	m.Helper()
	if err := m.manager.Remove(m.Context(), name); err != nil {
		m.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.roster = slices.DeleteFunc(slices.Clone(m.roster), func(e election.Spec) bool { return e.Name == name })
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *citizen) elections() ([]election.Spec, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.roster, m.changed
}

// work is the runner of every election.
func (m *citizen) work(ctx context.Context, term election.Term) error {
	if m.fails(term.Election) {
		return errors.New("the runner fails")
	}
	m.begin(term.Election, m.name)
	<-ctx.Done()
	m.end(term.Election, m.name)
	return nil
}

func (m *citizen) fails(name string) bool {
	m.crowd.mu.Lock()
	defer m.crowd.mu.Unlock()
	return m.failing[name] == m.Revision
}

func (c *crowd) begin(name, member string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at[name] == nil {
		c.at[name] = map[string]bool{}
	}
	c.at[name][member] = true
	if len(c.at[name]) > 1 && !strings.Contains(name, "disabled") {
		c.twice = append(c.twice, fmt.Sprintf("%s: %v", name, slices.Sorted(maps.Keys(c.at[name]))))
	}
}

func (c *crowd) end(name, member string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.at[name], member)
}

// led returns the revision at work in each election, empty if there is none.
func (c *crowd) led() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	led := map[string]string{}
	for _, e := range c.mixed {
		led[e.name] = ""
		for member := range c.at[e.name] {
			led[e.name] = revisionOf(member)
		}
	}
	return led
}

// leave ends all members, and reports the cases in which two worked at once.
func (c *crowd) leave() {
	c.Helper()
	for _, m := range c.members {
		m.stop()
	}
	for _, t := range c.twice {
		c.Errorf("at work at once: %s", t)
	}
}

func (c *crowd) say(word func(rollout.Plan) (rollout.Plan, error)) {
	c.Helper()
	err := steering.Edit(c.Context(), c.maps, groupName, func(p *rollout.Plan) (err error) {
		*p, err = word(*p)
		return err
	})
	if err != nil {
		c.Fatal(err)
	}
}

func (c *crowd) start(steps ...rollout.Step) {
	c.Helper()
	c.say(func(p rollout.Plan) (rollout.Plan, error) {
		spec := rollout.Spec{UID: uid, Stable: "red", Canary: "green", Steps: steps, AcquireTimeout: rollout.LeaseDurationsToAcquire * timing.LeaseDuration}
		return p.Start(spec, time.Now())
	})
}

// plan returns the stored plan.
func (c *crowd) plan() rollout.Plan {
	c.Helper()
	stored, err := steering.Load(c.Context(), c.maps, groupName)
	if err != nil {
		c.Fatal(err)
	}
	return stored.Plan
}

// phase lets time pass until the rollout is in the given phase; it fails if that takes longer than
// within.
func (c *crowd) phase(within time.Duration, phase rollout.Phase) rollout.Plan {
	c.Helper()
	for from := time.Now(); ; after(time.Second) {
		p := c.plan()
		switch {
		case p.Rollout != nil && p.Phase() == phase:
			return p
		case time.Since(from) >= within:
			c.Fatalf("after %v the rollout is %s, not %s\nstatus %+v\nled %v", within, p.Phase(), phase, p.Status, c.led())
		}
	}
}

// after lets virtual time pass, and waits until all goroutines are idle.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
