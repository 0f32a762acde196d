package election_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// TestOnTheAPIServer moves twenty elections to and fro between members of two revisions
// on the real API server, and looks for a moment in which two worked.
func TestOnTheAPIServer(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	const elections, switches = 20, 10
	j := newJudge()
	type begin struct {
		election string
		at       time.Time
	}
	var mu sync.Mutex
	var begins []begin
	began := make(chan struct{}, elections*(switches+4))
	work := func(name string) election.Runner {
		inner := j.runner(name, 0)
		return election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			mu.Lock()
			begins = append(begins, begin{term.Election, time.Now()})
			mu.Unlock()
			began <- struct{}{}
			return inner.Run(ctx, term)
		})
	}
	timing, _ := record.Profile(record.DefaultProfile)
	timing.PreemptDelay, timing.MinHold = 0, 0
	join := func(name, revision string) *member {
		client, err := lease.NewClient(cluster.Config)
		if err != nil {
			t.Fatal(err)
		}
		m := &member{name: name, prefs: newPrefs(stable), done: make(chan error, 1), status: map[string]*election.Status{}}
		m.manager, err = election.NewManager(election.Config{
			Group: "edge", Host: name, Member: election.Member{Revision: revision}, Locks: lease.In(client, namespace),
			Preferences: m.prefs, Timing: timing, Log: zap.NewNop(),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range elections {
			e := "e" + string(rune('a'+i))
			if m.status[e], err = m.manager.Add(election.Spec{Name: e, Bootstrap: machine.BootstrapImmediate}, work(name)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		m.stop = cancel
		go func() { m.done <- m.manager.Run(ctx) }()
		return m
	}
	wait := func(what string) {
		t.Helper()
		timeout := clock.NewTimer(60 * time.Second).C
		for range elections {
			select {
			case <-began:
			case <-timeout:
				t.Fatalf("%s: not all elections are led", what)
			}
		}
	}
	m1, m2, m3 := join("m1", "stable"), join("m2", "stable"), join("m3", "canary")
	wait("start")
	var latencies []time.Duration
	record := func(since time.Time) {
		mu.Lock()
		defer mu.Unlock()
		for _, b := range begins[len(begins)-elections:] {
			latencies = append(latencies, b.at.Sub(since))
		}
	}
	for i := range switches {
		to := stable
		if i%2 == 0 {
			to = canary
		}
		at := time.Now()
		for _, m := range []*member{m1, m2, m3} {
			m.prefs.values <- to
		}
		wait("switch to " + to.String())
		record(at)
	}
	for _, m := range []*member{m1, m2, m3} {
		m.leave(t)
	}
	for _, o := range j.overlaps() {
		t.Error(o)
	}
	slices.Sort(latencies)
	t.Logf("%d terms; takeover n=%d p50 %v p90 %v max %v", j.terms(), len(latencies), latencies[len(latencies)/2], latencies[len(latencies)*9/10], latencies[len(latencies)-1])
}
