package hostile_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// More tests than processors run at once, since they wait far more than they compute.
	if err := errors.Join(flag.Set("test.parallel", "32"), elector.Quiet()); err != nil {
		panic(err)
	}
	devcluster.Main(m)
}

const group = "edge"

const lostSession = "session lost; everything stops, and the member comes back under a new identity"

// patience bounds every wait for an event that is sure to come.
const patience = 2 * time.Minute

// crew is the members that share a set of trials, and all that is seen of them.
type crew struct {
	t      *testing.T
	config *rest.Config
	raw    raw
	clock  clock.Clock
	logs   *observer.ObservedLogs
	log    *zap.Logger
	trials map[string]*trial // by election
	leases lock.Store
	maps   lock.NameWatcher

	mu      sync.Mutex
	changed chan struct{}            // closed and replaced whenever anything happened
	live    map[string]record.Record // sessions by the name of the member
}

func newCrew(t *testing.T, trials []*trial) *crew {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	leases, err := lease.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := configmap.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(leases.CloseIdleConnections)
	t.Cleanup(maps.CloseIdleConnections)
	c := &crew{
		t: t, config: cluster.Config, clock: clock.Boottime(), trials: map[string]*trial{},
		raw:    raw{leases: leases.RESTClient(), maps: maps.RESTClient(), namespace: namespace},
		leases: lease.In(leases, namespace, lease.HolderKeys()), maps: configmap.In(maps, namespace, configmap.WholeNamespace()),
		changed: make(chan struct{}), live: map[string]record.Record{},
	}
	var core zapcore.Core
	core, c.logs = observer.New(zap.InfoLevel)
	c.log = zap.New(core, zap.Hooks(func(zapcore.Entry) error {
		c.locked(func() {})
		return nil
	}))
	for i, tr := range trials {
		tr.crew, tr.election = c, fmt.Sprintf("e%03d", i)
		c.trials[tr.election] = tr
		if err := tr.seed(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.observe()
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
func (c *crew) await(ctx context.Context, what string, cond func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	for {
		c.mu.Lock()
		done, changed := cond(), c.changed
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
}

// observe watches both kinds of object until the test ends.
func (c *crew) observe() {
	ctx, cancel := context.WithCancel(context.Background())
	var watches sync.WaitGroup
	var names []string
	for name := range c.trials {
		names = append(names, name)
	}
	watches.Go(func() { c.end(c.leases.Watch(ctx, func(e lock.Event) { c.see(inLease, e) })) })
	watches.Go(func() { c.end(c.maps.WatchNames(ctx, names, func(e lock.Event) { c.see(inConfigMap, e) })) })
	c.t.Cleanup(func() {
		cancel()
		watches.Wait()
	})
}

func (c *crew) end(err error) {
	if err != nil {
		c.t.Error(err)
	}
}

func (c *crew) see(k kind, e lock.Event) {
	entries := e.List
	if e.Kind == lock.Changed {
		entries = []lock.Entry{e.Entry}
	}
	c.locked(func() {
		for _, e := range entries {
			if tr := c.trials[e.Name]; tr != nil && tr.kind == k {
				tr.see(e)
			}
			if e.Record != nil && e.Record.IsSession() && e.Record.Bound() && e.Record.Holder != "" {
				c.live[record.HostOf(e.Record.Holder)] = *e.Record
			}
		}
	})
}

// member is one running manager.
type member struct {
	name   string
	wire   *wire
	cancel context.CancelFunc
	done   chan error
}

// join starts a member that takes part in all the trials' elections.
func (c *crew) join(name string) *member {
	c.t.Helper()
	m := &member{name: name, wire: newWire(), done: make(chan error, 1)}
	config := rest.CopyConfig(c.config)
	config.Wrap(m.wire.wrap)
	leases, err := lease.NewClient(config)
	if err != nil {
		c.t.Fatal(err)
	}
	maps, err := configmap.NewClient(config)
	if err != nil {
		c.t.Fatal(err)
	}
	timing, _ := record.Profile("fast")
	manager, err := election.NewManager(election.Config{
		Group: group, Host: name, Member: election.Member{Revision: "stable"}, Timing: timing,
		Locks: lease.In(leases, c.raw.namespace, lease.HolderKeys()),
		Log:   c.log.With(zap.String("member", name)),
		// Work that outlives its deadline on a busy machine would end the process; here it
		// goes on, and the judge sees it.
		Abort: func(err error) { c.t.Logf("%s aborts: %v", name, err) },
	})
	if err != nil {
		c.t.Fatal(err)
	}
	mapStore := configmap.In(maps, c.raw.namespace, configmap.WholeNamespace())
	for _, tr := range c.trials {
		spec := election.Spec{Name: tr.election, Renewal: record.RenewalRecord}
		if tr.kind == inConfigMap {
			spec.Locks = mapStore
		}
		if _, err := manager.Add(spec, tr.runner(name)); err != nil {
			c.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	go func() { m.done <- manager.Run(ctx) }() // joined by leave
	c.t.Cleanup(func() {
		m.leave(c.t)
		leases.CloseIdleConnections()
		maps.CloseIdleConnections()
	})
	return m
}

// leave stops the member and waits until it is gone. It may be called again.
func (m *member) leave(t *testing.T) {
	if m.cancel == nil {
		return
	}
	m.wire.mend()
	m.cancel()
	m.cancel = nil
	if err := <-m.done; err != nil {
		t.Errorf("%s: %v", m.name, err)
	}
}

// awaitSession returns once the member's session is seen.
func (c *crew) awaitSession(name string) error {
	return c.await(c.t.Context(), "session of "+name, func() bool { return c.live[name].Holder != "" })
}

// reported finds what the members' logs say of an election between two times.
func (c *crew) reported(election string, since, until time.Time) (found []observer.LoggedEntry) {
	for _, e := range c.logs.All() {
		of, named := e.ContextMap()["election"]
		ofSession := !named && e.Message == lostSession
		if (of == election || ofSession) && !e.Time.Before(since) && (until.IsZero() || e.Time.Before(until)) {
			found = append(found, e)
		}
	}
	return found
}

// wire is a member's connection, which can be cut: then nothing gets through any more, and
// requests under way are lost. To everybody else the member seems to have been killed.
type wire struct {
	mu  sync.Mutex
	up  context.Context
	cut context.CancelFunc
}

func newWire() *wire {
	w := &wire{}
	w.up, w.cut = context.WithCancel(context.Background())
	return w
}

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper { return &wired{w, next} }

// mend lets everything through again.
func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.up.Err() != nil {
		w.up, w.cut = context.WithCancel(context.Background())
	}
}

type wired struct {
	wire *wire
	next http.RoundTripper
}

var errCut = errors.New("the wire is cut")

func (r *wired) RoundTrip(req *http.Request) (*http.Response, error) {
	r.wire.mu.Lock()
	up := r.wire.up
	r.wire.mu.Unlock()
	if up.Err() != nil {
		return nil, errCut
	}
	ctx, cancel := context.WithCancel(req.Context())
	context.AfterFunc(up, cancel)
	return r.next.RoundTrip(req.WithContext(ctx))
}

// WrappedRoundTripper lets client-go find the connections.
func (r *wired) WrappedRoundTripper() http.RoundTripper { return r.next }

// leftFree is the record that a former member leaves behind.
func leftFree(election string) record.Record {
	return record.Record{
		Duration: time.Second, Transitions: 3, Token: 5, Group: group, Election: election,
		Mark: &record.Mark{Transitions: 3, Beat: 9, Duration: 5 * time.Second, Renewal: record.RenewalRecord},
	}
}
