package weather_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/judge"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/proxy"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// client-go pings idle connections by itself, after 30 s. These tests try our own detection.
	for _, name := range []string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS", "HTTP2_PING_TIMEOUT_SECONDS"} {
		if err := os.Setenv(name, "3600"); err != nil {
			panic(err)
		}
	}
	if err := flag.Set("test.parallel", "6"); err != nil { // more tests at once would starve on a busy machine
		panic(err)
	}
	devcluster.Main(m)
}

const (
	group = "edge"
	// patience bounds every wait for an event that is sure to come.
	patience = 2 * time.Minute
	// linger is how long work goes on after it was told to stop.
	linger = 100 * time.Millisecond
)

// The elections of every test: one for each way in which a lock is kept and renewed.
const (
	bySession   = "by-session"
	byRecord    = "by-record"
	inConfigMap = "in-configmap"
)

var elections = []string{bySession, byRecord, inConfigMap}

// timing is short, but still a multiple of the time for which a busy machine holds a process up.
var timing = record.Timing{
	LeaseDuration: 4 * time.Second, RenewInterval: 700 * time.Millisecond, StopGrace: 700 * time.Millisecond,
	NominateDelay: 500 * time.Millisecond, MinHold: time.Second, StandDown: 2 * time.Second, Drift: record.DefaultDrift,
}

// crew is the members of one test, and all that is seen of them.
type crew struct {
	t         *testing.T
	cluster   *devcluster.Cluster
	namespace string
	clock     clock.Clock

	mu sync.Mutex
	// bend changes the specs of the elections that each member takes part in.
	bend    func(*election.Spec)
	changed chan struct{} // closed and replaced whenever anything happened
	spans   map[string][]*judge.Span
	members []*member
}

func newCrew(t *testing.T) *crew {
	t.Parallel()
	cluster := devcluster.Start(t)
	c := &crew{
		t: t, cluster: cluster, namespace: cluster.Namespace(t), clock: clock.Boottime(),
		changed: make(chan struct{}), spans: map[string][]*judge.Span{},
	}
	t.Cleanup(c.verdict)
	return c
}

// locked calls do with the lock held, and then wakes everybody who waits for a change.
func (c *crew) locked(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
	close(c.changed)
	c.changed = make(chan struct{})
}

// await returns once cond holds; cond is called with the lock held.
func (c *crew) await(what string, cond func() bool) {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		c.mu.Lock()
		done, changed := cond(), c.changed
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			for _, m := range c.members {
				c.t.Logf("%s said:\n%s", m.name, m.said())
			}
			c.t.Fatalf("not within %v: %s; at work: %v", patience, what, c.atWork())
		}
	}
}

// working is who works for the election at this moment; empty for nobody. The lock is held.
func (c *crew) working(election string) string {
	spans := c.spans[election]
	if len(spans) == 0 || spans[len(spans)-1].Told != 0 {
		return ""
	}
	return spans[len(spans)-1].Member
}

// terms counts the terms of the election.
func (c *crew) terms(election string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.spans[election])
}

func (c *crew) atWork() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]string{}
	for _, e := range elections {
		found[e] = c.working(e)
	}
	return found
}

// led waits until each election is led by one of the members.
func (c *crew) led(by ...*member) {
	c.t.Helper()
	for _, e := range elections {
		c.ledOne(e, by...)
	}
}

func (c *crew) ledOne(election string, by ...*member) {
	c.t.Helper()
	c.await(fmt.Sprintf("%s led by %v", election, by), func() bool {
		return slices.ContainsFunc(by, func(m *member) bool { return m.name == c.working(election) })
	})
}

// settled waits until the member has a session.
func (c *crew) settled(m *member) {
	c.t.Helper()
	leases, _ := c.stores(c.cluster.Config)
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	joined := false
	err := leases.Watch(ctx, func(e lock.Event) {
		for _, e := range append(e.List, e.Entry) {
			if e.Record != nil && e.Record.IsSession() && strings.HasPrefix(e.Record.Holder, m.name+"_") {
				joined = true
				cancel()
			}
		}
	})
	if err != nil || !joined {
		c.t.Fatalf("%s has no session: %v", m, err)
	}
}

// watch lets time pass in which something that must not happen would happen.
func (c *crew) watch(d time.Duration) { <-time.After(d) }

// verdict lets all members leave, and fails the test where two were at work at once.
func (c *crew) verdict() {
	for _, m := range c.members {
		m.leave(c.t)
	}
	for e, all := range c.spans {
		var spans []judge.Span
		for _, s := range all {
			spans = append(spans, *s)
		}
		if d := judge.Overlapping(spans); d > 0 {
			c.t.Errorf("%s: two at work for %v, in %d terms", e, d, len(spans))
		}
		for _, f := range judge.Falling(spans) {
			c.t.Errorf("%s: %s", e, f)
		}
	}
}

// runner is work that records when it begins and ends.
func (c *crew) runner(member string) election.Runner {
	return election.RunnerFunc(func(ctx context.Context, term election.Term) error {
		s := &judge.Span{Member: member, Token: term.Token, Begin: c.clock.Now()}
		c.locked(func() { c.spans[term.Election] = append(c.spans[term.Election], s) })
		<-ctx.Done()
		c.locked(func() { s.Told = c.clock.Now() })
		<-time.After(linger)
		c.locked(func() { s.Till = c.clock.Now() })
		return nil
	})
}

// member is one running manager, and the proxy through which alone it reaches the API server.
type member struct {
	name    string
	manager *election.Manager
	way     *proxy.Proxy
	logs    *observer.ObservedLogs
	cancel  context.CancelFunc
	done    chan error
}

func (m *member) String() string { return m.name }

// way is a new proxy of the API server.
func (c *crew) way() *proxy.Proxy { return proxy.New(c.t, c.cluster.Config) }

// join starts a member on a proxy that has no faults yet.
func (c *crew) join(name string) *member {
	c.t.Helper()
	return c.joinBy(name, c.way())
}

// joinBy starts a member on the given proxy.
func (c *crew) joinBy(name string, way *proxy.Proxy) *member {
	c.t.Helper()
	m := &member{name: name, way: way, done: make(chan error, 1)}
	var core zapcore.Core
	core, m.logs = observer.New(zap.InfoLevel)
	leases, maps := c.stores(way.Config())
	manager, err := election.NewManager(election.Config{
		Group: group, Host: name, Member: election.Member{Revision: "stable"}, Timing: timing, Locks: leases,
		Log: zap.New(core, zap.Hooks(func(zapcore.Entry) error {
			c.locked(func() {})
			return nil
		})),
		// Work that outlives its deadline on a busy machine would end the process; here it
		// goes on, and the judge sees it.
		Abort: func(err error) { c.t.Logf("%s aborts: %v", name, err) },
	})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, s := range []election.Spec{
		{Name: bySession},
		{Name: byRecord, Renewal: record.RenewalRecord},
		{Name: inConfigMap, Locks: maps},
	} {
		s.Bootstrap = machine.BootstrapImmediate
		if c.bend != nil {
			c.bend(&s)
		}
		if _, err := manager.Add(s, c.runner(name)); err != nil {
			c.t.Fatal(err)
		}
	}
	m.manager = manager
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	go func() { m.done <- manager.Run(ctx) }() // joined by leave
	c.members = append(c.members, m)
	return m
}

func (c *crew) stores(config *rest.Config) (*lease.Store, *configmap.Store) {
	leases, err := lease.NewClient(config)
	if err != nil {
		c.t.Fatal(err)
	}
	maps, err := configmap.NewClient(config)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(leases.CloseIdleConnections)
	c.t.Cleanup(maps.CloseIdleConnections)
	return lease.In(leases, c.namespace), configmap.In(maps, c.namespace, configmap.WholeNamespace())
}

// leave stops the member and waits until it is gone. It may be called again.
func (m *member) leave(t *testing.T) {
	if m.cancel == nil {
		return
	}
	m.cancel()
	m.cancel = nil
	if err := <-m.done; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("%s: %v", m.name, err)
	}
}

// said is the member's log.
func (m *member) said() string {
	var b strings.Builder
	for _, e := range m.logs.All() {
		fmt.Fprintf(&b, "%s %v %s %v\n", e.Time.Format("05.000"), e.Level, e.Message, e.ContextMap())
	}
	return b.String()
}

// warned says whether the member's log has a warning with the given text in its message or error.
func (m *member) warned(text string) bool {
	return slices.ContainsFunc(m.logs.FilterLevelExact(zap.WarnLevel).All(), func(e observer.LoggedEntry) bool {
		return strings.Contains(e.Message, text) || strings.Contains(fmt.Sprint(e.ContextMap()["error"]), text)
	})
}
