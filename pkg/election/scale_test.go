//go:build linux

package election_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// scale is for a closer look: -scale 10000 prints the cost of that many elections, and asserts nothing.
var scale = flag.Int("scale", 0, "print what this many elections cost")

// wire is a member's access to a realm. It counts requests, and decodes records for each member, as a
// store does with what a server sends.
type wire struct {
	*memory.Store
	decoder  codec.Decoder
	requests atomic.Int64
	lists    atomic.Int64
	begun    atomic.Int64 // watches
}

func newWire(r *memory.Realm) *wire {
	w := &wire{Store: r.Store()}
	count := func(_ context.Context, c memory.Call, op func() error) error {
		w.requests.Add(1)
		if c.Op == memory.List {
			w.lists.Add(1)
		}
		return op()
	}
	for _, op := range []memory.Op{memory.Get, memory.Put, memory.List, memory.Watch} {
		w.On(op, count)
	}
	return w
}

func (w *wire) Watch(ctx context.Context, deliver func(lock.Event)) error {
	w.begun.Add(1)
	return w.Store.Watch(ctx, func(e lock.Event) {
		e.Entry = w.decoded(e.Entry)
		list := e.List
		e.List = nil
		for _, entry := range list {
			e.List = append(e.List, w.decoded(entry))
		}
		deliver(e)
	})
}

func (w *wire) decoded(e lock.Entry) lock.Entry {
	if e.Record == nil {
		return e
	}
	o, err := codec.Encode(*e.Record, time.Time{})
	if err != nil {
		panic(err)
	}
	e.Record, e.Version.UID = w.decoder.Decode(o), string([]byte(e.Version.UID))
	return e
}

// crowd is a set of managers with many elections without runners, in a bubble.
type crowd struct {
	t        *testing.T
	clock    clocktest.Bubble
	realm    *memory.Realm
	n        int
	wires    []*wire
	stops    []func()
	managers []*election.Manager
	seen     []*election.Status // the last election of each member
}

func newCrowd(t *testing.T, n int) *crowd {
	c := clocktest.Bubble{}
	return &crowd{t: t, clock: c, realm: memory.New(c), n: n}
}

// join adds a member, and returns once the member has seen everything.
func (c *crowd) join() {
	c.t.Helper()
	w := newWire(c.realm)
	c.wires = append(c.wires, w)
	m, err := election.NewManager(election.Config{
		Group: "edge", Host: fmt.Sprintf("m%d", len(c.wires)), Member: election.Member{Revision: "stable"},
		Locks: w, Clock: c.clock, WritesPerSecond: 1e6,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	var last *election.Status
	for i := range c.n {
		if last, err = m.Add(election.Spec{Name: fmt.Sprintf("e%05d", i), Bootstrap: machine.BootstrapImmediate}, nil); err != nil {
			c.t.Fatal(err)
		}
	}
	c.seen = append(c.seen, last)
	c.managers = append(c.managers, m)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	c.stops = append(c.stops, func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Error(err)
		}
	})
	after(20 * time.Second)
}

func (c *crowd) leave() {
	for _, stop := range c.stops {
		stop()
	}
}

// requests counts those of all members so far.
func (c *crowd) requests() (n int64) {
	for _, w := range c.wires {
		n += w.requests.Load()
	}
	return n
}

// usage is what the process has used so far.
type usage struct {
	cpu         time.Duration
	heap        uint64
	allocations uint64
}

func used() usage {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return usage{time.Duration(r.Utime.Nano() + r.Stime.Nano()), m.HeapAlloc, m.Mallocs}
}

// goroutines counts goroutines that stay: the least of many readings, since one that ends, or that
// cleans up after the garbage collector, counts for a moment longer.
func goroutines() int {
	n := runtime.NumGoroutine()
	for range 1000 {
		runtime.Gosched()
		n = min(n, runtime.NumGoroutine())
	}
	return n
}

// rest counts the goroutines at the quietest of several moments: a request may be under way at any one
// of them.
func rest() int {
	n := goroutines()
	for range 20 {
		after(70 * time.Millisecond)
		n = min(n, goroutines())
	}
	return n
}

// cost is the cost of elections while nothing happens.
type cost struct {
	// perLeader and perFollower are bytes of the heap for each election.
	perLeader, perFollower float64
	// goroutines are those of one member, which follows.
	goroutines int
	// requests and allocations are those of three members in one renewal interval.
	requests, allocations float64
	// share is the share of one core that three members use.
	share       float64
	start, join time.Duration
}

func (c cost) String() string {
	return fmt.Sprintf("heap of a leader %.0f B/election, of a follower %.0f; goroutines of a follower %d; requests %.2f and allocations %.0f per renewInterval of 3 members; CPU of 3 members %.3f %% of a core; CPU to win all %v, to follow all %v",
		c.perLeader, c.perFollower, c.goroutines, c.requests, c.allocations, 100*c.share, c.start.Round(time.Millisecond), c.join.Round(time.Millisecond))
}

// costs lets one member lead n elections while two follow.
func costs(t *testing.T, n int) (c cost) {
	inBubble(t, func(t *testing.T) {
		crowd := newCrowd(t, n)
		crowd.join() // warms up what all share, including the realm
		crowd.leave()
		crowd.realm.Compact()
		crowd.wires, crowd.stops, crowd.seen = nil, nil, nil
		empty := used()
		crowd.join()
		crowd.realm.Compact()
		resting := rest()
		leads := used()
		crowd.join()
		follows := used()
		c.goroutines = rest() - resting
		crowd.join()
		if l := crowd.seen[0]; !l.IsLeader() || crowd.seen[2].Leader().Identity != l.Leader().Identity {
			t.Fatalf("this shows nothing: %+v, %+v", l.Leader(), crowd.seen[2].Leader())
		}
		c.perLeader = (float64(leads.heap) - float64(empty.heap)) / float64(n)
		c.perFollower = (float64(follows.heap) - float64(leads.heap)) / float64(n)
		c.start, c.join = leads.cpu-empty.cpu, follows.cpu-leads.cpu
		const intervals = 200
		timing, _ := record.Profile(record.DefaultProfile)
		requests, before := crowd.requests(), used()
		after(intervals * timing.RenewInterval)
		idle := used()
		c.requests = float64(crowd.requests()-requests) / intervals
		c.allocations = float64(idle.allocations-before.allocations) / intervals
		c.share = (idle.cpu - before.cpu).Seconds() / (intervals * timing.RenewInterval).Seconds()
		crowd.leave()
	})
	return c
}

// TestCostsOfManyElections checks P5, P7 and P8: what many elections cost while nothing happens.
func TestCostsOfManyElections(t *testing.T) {
	if *scale > 0 {
		t.Logf("%d elections: %v", *scale, costs(t, *scale))
		return
	}
	n := 1000
	if underRace {
		n = 100
	}
	few, many := costs(t, 10), costs(t, n)
	t.Logf("%d elections: %v", n, many)
	if few.requests != many.requests || many.requests > 4.5 {
		t.Errorf("%.2f requests for each renewInterval with 10 elections, %.2f with %d", few.requests, many.requests, n)
	}
	// A request may be under way at each count. A goroutine for each election, or for each tenth, would
	// show.
	if many.goroutines > few.goroutines+5 || many.goroutines > 50 {
		t.Errorf("%d goroutines with 10 elections, %d with %d", few.goroutines, many.goroutines, n)
	}
	if underRace {
		return // the race detector has costs of its own
	}
	if many.perLeader > 2200 || many.perFollower > 1960 {
		t.Errorf("an election costs its leader %.0f B and a follower %.0f B", many.perLeader, many.perFollower)
	}
	// A beat touches no election.
	if each := (many.allocations - few.allocations) / float64(n-10); each > 0.1 {
		t.Errorf("a term costs %.1f allocations per renewInterval", each)
	}
}

// TestAddingElectionsSharesLists checks that a starting member lists the locks once, and not again for
// each election that is added later.
func TestAddingElectionsSharesLists(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		crowd := newCrowd(t, 20)
		crowd.join()
		wire, m := crowd.wires[0], crowd.managers[0]
		if lists, watches := wire.lists.Load(), wire.begun.Load(); lists != 1 || watches != 1 {
			t.Errorf("%d lists and %d watches to start", lists, watches)
		}
		var added []*election.Status
		for i := range 400 {
			s, err := m.Add(election.Spec{Name: fmt.Sprintf("added-%d", i), Bootstrap: machine.BootstrapImmediate}, nil)
			if err != nil {
				t.Fatal(err)
			}
			added = append(added, s)
			after(10 * time.Millisecond)
		}
		after(2 * time.Second)
		if n := wire.lists.Load(); n > 6 {
			t.Errorf("%d lists for 400 elections in 4 s", n-1)
		}
		for _, s := range added {
			if !s.IsLeader() {
				t.Errorf("%s is not led", s.Election())
			}
		}
		crowd.leave()
	})
}

// TestThrottlingHoldsAllWrites checks that when a store throttles one election's write, all writes to it
// wait, except renewals.
func TestThrottlingHoldsAllWrites(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, many(300)...)
		m1 := g.join("m1", "stable", stable)
		var asked atomic.Int64
		m1.store.On(memory.Put, func(_ context.Context, c memory.Call, op func() error) error {
			if c.Record.IsSession() {
				return op()
			}
			asked.Add(1)
			return &lock.ThrottledError{RetryAfter: 10 * time.Second, Err: lock.ErrThrottled}
		})
		after(40 * time.Second)
		if n := asked.Load(); n == 0 || n > 5*24 {
			t.Errorf("%d writes in 40 s, although each was told to come back in 10 s", n)
		}
		m1.store.Heal()
		after(40 * time.Second)
		if n := len(leaders(m1)); n != len(g.names) {
			t.Errorf("%d of %d are led", n, len(g.names))
		}
		m1.leave(t)
		g.verdict(300)
	})
}

// TestAddingToNamedLocksThatAreBeingListed checks that an election added while a stream of named locks
// waits for its first list does not count as listed: the list does not show its lock.
func TestAddingToNamedLocksThatAreBeingListed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m1 := g.join("m1", "stable", stable)
		store := memory.New(g.clock).Store()
		store.On(memory.List, memory.Once(memory.Delay(10*time.Second)))
		var added []*election.Status
		for _, name := range []string{"a", "b"} {
			s, err := m1.manager.Add(election.Spec{Name: name, Locks: byName{store}, Bootstrap: machine.BootstrapImmediate}, nil)
			if err != nil {
				t.Fatal(err)
			}
			added = append(added, s)
			after(5 * time.Second)
		}
		after(20 * time.Second)
		for _, s := range added {
			if !s.IsLeader() {
				t.Errorf("%s is not led", s.Election())
			}
		}
		m1.leave(t)
	})
}
