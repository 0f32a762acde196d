package fence_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// party is a member on the real API server. Its writes go through a gate.
type party struct {
	name   string
	locks  lock.Store
	status *election.Status
	gate   *fence.Gate
	http   *http.Client
	core   *coreclient.CoreV1Client
	// asked counts requests that came to the gate; trail lists those that left it.
	asked *counter
	trail *trail
	prefs chan record.Preferred
	stop  context.CancelFunc
	done  chan error
}

// partyConfig changes a party: its store of locks, its timing and its runner, which may be nil.
type partyConfig struct {
	locks  func(lock.Store) lock.Store
	timing record.Timing
	runner election.Runner
	trail  *trail
	// renewal is how its terms are renewed; empty for the default.
	renewal record.Renewal
}

func joinCluster(t *testing.T, cluster *devcluster.Cluster, namespace, name, revision string, cfg partyConfig) *party {
	t.Helper()
	p := &party{name: name, asked: &counter{}, trail: cfg.trail, prefs: make(chan record.Preferred, 256), done: make(chan error, 1)}
	if p.trail == nil {
		p.trail = &trail{}
	}
	client, err := lease.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	var locks lock.Store = lease.In(client, namespace)
	if cfg.locks != nil {
		locks = cfg.locks(locks)
	}
	p.locks = locks
	p.prefs <- record.Prefer("stable")
	m, err := election.NewManager(election.Config{
		Group: "edge", Host: name, Member: election.Member{Revision: revision}, Locks: locks, Timing: cfg.timing, Preferences: p,
		Abort: func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.status, err = m.Add(election.Spec{Name: "a", Bootstrap: machine.BootstrapImmediate, Renewal: cfg.renewal}, cfg.runner); err != nil {
		t.Fatal(err)
	}
	p.gate = gateOf(t, p.status)
	config := rest.CopyConfig(cluster.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &recorder{p, next} })
	config.Wrap(p.gate.RoundTripper)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { p.asked.next = next; return p.asked })
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	p.http = h
	if p.core, err = coreclient.NewForConfigAndClient(config, h); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-p.done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		utilnet.CloseIdleConnectionsFor(h.Transport)
		client.CloseIdleConnections()
	})
	t.Cleanup(p.stop)
	go func() { p.done <- m.Run(ctx) }()
	return p
}

// wantRenewed checks how the present term is renewed.
func (p *party) wantRenewed(t *testing.T, by record.Renewal) {
	t.Helper()
	e, err := p.locks.Get(t.Context(), "a")
	if err != nil || e.Record == nil || e.Record.Mark.Renewal != by {
		t.Fatalf("want a term that the %s renews: %+v, %v", by, e.Record, err)
	}
}

// Watch makes the party its own source of the preferred revision.
func (p *party) Watch(ctx context.Context, deliver func(election.Preference)) error {
	for {
		select {
		case v := <-p.prefs:
			deliver(v)
		case <-ctx.Done():
			return nil
		}
	}
}

// counter counts requests.
type counter struct {
	next http.RoundTripper
	mu   sync.Mutex
	n    int
}

func (c *counter) RoundTrip(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	return c.next.RoundTrip(req)
}

func (c *counter) WrappedRoundTripper() http.RoundTripper { return c.next }

func (c *counter) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

// trail is what happened in one process, in its order.
type trail struct {
	mu     sync.Mutex
	events []event
}

// event has the token of the member's present or last term.
type event struct {
	member, what string
	token        record.Token
}

func (t *trail) note(p *party, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, event{p.name, what, p.status.Token()})
}

func (t *trail) take() []event {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.events
	t.events = nil
	return e
}

// recorder is behind the gate: what it notes was sent.
type recorder struct {
	party *party
	next  http.RoundTripper
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	t := r.party.trail
	t.mu.Lock()
	if err := req.Context().Err(); err != nil { // as net/http does before it sends anything
		t.mu.Unlock()
		return nil, err
	}
	t.events = append(t.events, event{r.party.name, "sent " + req.Method, r.party.status.Token()})
	t.mu.Unlock()
	return r.next.RoundTrip(req)
}

func (r *recorder) WrappedRoundTripper() http.RoundTripper { return r.next }
