package endpoints

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/metrics"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// loadOf is the load of this run, and where its locks are: with PRIMACY_ENDPOINTS_LOAD=full it is the whole load, on the
// real API server.
func loadOf(t *testing.T) (load, func() lock.Store) {
	t.Helper()
	if os.Getenv("PRIMACY_ENDPOINTS_LOAD") != "full" {
		return load{Streams: 40, Slow: 5, Huge: 20, Halves: 5, Hasty: 20, Scrapes: 300, Rounds: 5, Rest: 50 * time.Millisecond}, inMemory()
	}
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	return load{Streams: 1000, Slow: 100, Huge: 5000, Halves: 100, Scrapes: 10000, Pause: 20 * time.Millisecond, Rounds: 200, Rest: 50 * time.Millisecond, Yields: true}, func() lock.Store {
		client, err := lease.NewClient(cluster.Config)
		if err != nil {
			t.Fatal(err)
		}
		return lease.In(client, namespace)
	}
}

func inMemory() func() lock.Store {
	realm := memory.New(clock.Boottime())
	return func() lock.Store { return realm.Store() }
}

// patience is how long a test waits for anything.
const patience = time.Minute

// steady is the lease of members that must lose no term. It is that of the default profile: on a machine whose
// processors others keep for 3 s, members with a shorter one stop by design.
const steady = 15 * time.Second

// side prefers one revision in the elections that move, and the first in those that stay.
type side string

func (s side) Digest() string { return string(s) }

func (s side) For(e string) record.Preferred {
	if strings.HasPrefix(e, "move") {
		return record.Prefer(string(s))
	}
	return record.Prefer("r1")
}

// loaded is a member whose endpoints are served on a real socket.
type loaded struct {
	manager *election.Manager
	prefer  chan election.Preference
	// lost counts the terms that ended without our doing, and those in jeopardy.
	lost, jeopardies atomic.Int64
	led              chan string // elections that this member begins to lead
	server           *Server
	end              func()
}

func (l *loaded) Watch(ctx context.Context, deliver func(election.Preference)) error {
	for {
		select {
		case v := <-l.prefer:
			deliver(v)
		case <-ctx.Done():
			return nil
		}
	}
}

const moving, staying = 10, 10

func start(t *testing.T, locks lock.Store, host, revision string) *loaded {
	t.Helper()
	l := &loaded{prefer: make(chan election.Preference, 4), led: make(chan string, 4096)}
	l.prefer <- side("r1")
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	timing.MinHold, timing.PreemptDelay = 0, 0
	timing.LeaseDuration = steady
	if l.manager, err = election.NewManager(election.Config{
		Group: "edge", Host: host, Member: election.Member{Revision: revision}, Locks: locks, Preferences: l, Timing: timing,
	}); err != nil {
		t.Fatal(err)
	}
	work := election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		<-ctx.Done()
		return nil
	})
	for i := range moving + staying {
		name := fmt.Sprintf("stay-%d", i)
		if i < moving {
			name = fmt.Sprintf("move-%d", i)
		}
		if _, err := l.manager.Add(election.Spec{Name: name, Bootstrap: election.BootstrapImmediate}, work); err != nil {
			t.Fatal(err)
		}
	}
	l.server = serve(t, Config{
		HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, Health: l.manager, Elections: l.manager,
		Collectors: []prometheus.Collector{metrics.Of(l.manager)}, Log: zap.NewNop(),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	transitions := l.manager.Watch(context.Background())
	wg.Go(func() {
		for one := range transitions {
			switch {
			case one.Event == election.EventLost:
				l.lost.Add(1)
			case one.Event == election.EventJeopardy:
				l.jeopardies.Add(1)
			case one.Event == election.EventRole && one.Role == election.Leading:
				l.led <- one.Election
			}
		}
	})
	wg.Go(func() {
		if err := l.manager.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	l.end = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	t.Cleanup(l.end)
	return l
}

// serve runs a Server until the test ends.
func serve(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Listen(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- s.Run(ctx) }() // joined by the cleanup
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return s
}

// await waits until n elections that move are led by the member.
func (l *loaded) await(t *testing.T, n int, since time.Time) (took []time.Duration) {
	t.Helper()
	late := clock.NewTimer(patience)
	defer late.Stop()
	for len(took) < n {
		select {
		case name := <-l.led:
			if strings.HasPrefix(name, "move") {
				took = append(took, time.Since(since))
			}
		case <-late.C:
			t.Fatalf("%d of %d elections have moved", len(took), n)
		}
	}
	return took
}

// moves moves the elections there and back, rests after each move, and returns how long each move took.
func moves(t *testing.T, rounds int, rest time.Duration, m1, m2 *loaded) (took []time.Duration) {
	t.Helper()
	for range rounds {
		for _, to := range []*loaded{m2, m1} {
			at := time.Now()
			for _, m := range []*loaded{m1, m2} {
				m.prefer <- side(map[*loaded]string{m1: "r1", m2: "r2"}[to])
			}
			took = append(took, to.await(t, moving, at)...)
			clock.Wait(t.Context(), rest)
		}
	}
	return took
}

func percentile(all []time.Duration, p int) time.Duration {
	slices.Sort(all)
	return all[(len(all)-1)*p/100]
}

// TestLoad has clients read streams, read nothing, send huge headers and half requests, and scrape, all at once, while
// elections move. No term may be lost. The clients are a process of their own, in the whole load with the lowest priority,
// since they stand for programs on other machines.
func TestLoad(t *testing.T) {
	do, stores := loadOf(t)
	m1 := start(t, stores(), "m1", "r1")
	m1.await(t, moving, time.Now())
	m2 := start(t, stores(), "m2", "r2")
	moves(t, 1, 0, m1, m2) // the first one waits until the other is seen
	idle := moves(t, do.Rounds, do.Rest, m1, m2)

	do.URL = m1.server.URL()
	them := begin(t, do)
	for late := time.Now().Add(patience); m1.server.hub.open() < do.Streams+do.Slow; {
		if time.Now().After(late) || !clock.Wait(t.Context(), 10*time.Millisecond) {
			t.Fatalf("%d streams are open", m1.server.hub.open())
		}
	}
	calm := moves(t, do.Rounds, do.Rest, m1, m2) // streams alone
	them.says(t, "go")
	refused := make(chan bool, 1)
	go func() { // joined by the receive from refused
		_, said := them.hear(t, "huge headers are refused")
		refused <- said
	}()
	var busy []time.Duration
	for flood := true; flood; {
		busy = append(busy, moves(t, 1, do.Rest, m1, m2)...)
		select {
		case said := <-refused:
			if flood = false; !said {
				t.Fatal("the clients ended before all huge headers were refused")
			}
		default:
		}
	}
	scraped := moves(t, do.Rounds, do.Rest, m1, m2) // the streams are open, and scrapes go on
	report := them.hears(t, "scraped")
	them.says(t, "leave")
	shown := them.hears(t, "streams show")
	idle = append(idle, moves(t, do.Rounds, do.Rest, m1, m2)...)
	for _, m := range []*loaded{m1, m2} {
		if lost := m.lost.Load(); lost > 0 {
			t.Errorf("%d terms were lost", lost)
		}
	}
	for _, s := range m1.manager.Statuses() {
		if strings.HasPrefix(s.Election(), "stay") && (s.Cycle() != 1 || !s.IsLeader()) {
			t.Errorf("%s: cycle %d, leads: %v", s.Election(), s.Cycle(), s.IsLeader())
		}
	}
	if strings.HasPrefix(shown, " 0 ") || !strings.HasSuffix(shown, " lack 0") {
		t.Errorf("streams show%s", shown)
	}
	t.Logf("%d streams, %d clients that read nothing, %d huge headers, %d half requests, %d in haste;%s;%s", do.Streams, do.Slow, do.Huge, do.Halves, do.Hasty, report, shown)
	for _, some := range []struct {
		with string
		took []time.Duration
	}{{"nothing", idle}, {"streams", calm}, {"streams and scrapes", scraped}, {"the whole load", busy}} {
		p50 := percentile(some.took, 50)
		t.Logf("%d moves with %s: p50 %v p99 %v (p50 x %.2f)", len(some.took), some.with, p50, percentile(some.took, 99), float64(p50)/float64(percentile(idle, 50)))
	}
	t.Logf("terms lost %d, in jeopardy %d; streams cut %d", m1.lost.Load()+m2.lost.Load(), m1.jeopardies.Load()+m2.jeopardies.Load(), m1.server.hub.cut.Load())
}

// TestSlowStreamIsCut checks that a client that reads nothing is cut off once it lags, that the others go on, and that
// nobody waits for it.
func TestSlowStreamIsCut(t *testing.T) {
	s := start(t, inMemory()(), "m1", "r1").server
	slow, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	fmt.Fprint(slow, "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	quick, err := http.Get(s.URL() + "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = quick.Body.Close() }()
	lines := bufio.NewReaderSize(quick.Body, 1<<20)
	big := fmt.Appendf(nil, "data: %s\n\n", strings.Repeat("x", 256<<10))
	for n := 0; s.hub.open() != 1; n++ { // cut off, or gone since a write took too long
		if n == 2000 {
			t.Fatalf("%d frames of 256 KiB were sent, and %d streams are open", n, s.hub.open())
		}
		at := time.Now()
		s.hub.send(big)
		if took := time.Since(at); took > 5*time.Second {
			t.Errorf("sending took %v", took)
		}
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("the stream that is read is over: %v", err)
			}
			if len(line) > 1<<10 {
				break
			}
		}
	}
}
