package election_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// crew are members of twenty elections on the real API server, which hand over at once.
type crew struct {
	*testing.T
	cluster   *devcluster.Cluster
	namespace string
	timing    record.Timing
	judge     *judge
}

const crewElections = 20

func newCrew(t *testing.T) *crew {
	cluster := devcluster.Start(t)
	c := &crew{T: t, cluster: cluster, namespace: cluster.Namespace(t), judge: newJudge()}
	c.timing, _ = record.Profile(record.DefaultProfile)
	c.timing.PreemptDelay, c.timing.MinHold = 0, 0
	return c
}

func (c *crew) join(name, revision string, preferred election.Preference) *member {
	c.Helper()
	client, err := lease.NewClient(c.cluster.Config)
	if err != nil {
		c.Fatal(err)
	}
	m := &member{name: name, prefs: newPrefs(preferred), done: make(chan error, 1), status: map[string]*election.Status{}}
	m.manager, err = election.NewManager(election.Config{
		Group: "edge", Host: name, Member: election.Member{Revision: revision}, Locks: lease.In(client, c.namespace),
		Preferences: m.prefs, Timing: c.timing, Log: zap.NewNop(),
	})
	if err != nil {
		c.Fatal(err)
	}
	for i := range crewElections {
		e := "e" + string(rune('a'+i))
		if m.status[e], err = m.manager.Add(election.Spec{Name: e, Bootstrap: machine.BootstrapImmediate}, c.judge.runner(name, 0)); err != nil {
			c.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(c.Context())
	m.stop = cancel
	go func() { m.done <- m.manager.Run(ctx) }()
	return m
}

// wait waits until one of the members works in each election.
func (c *crew) wait(among ...*member) {
	c.Helper()
	timeout := clock.NewTimer(60 * time.Second).C
	for !c.judge.allWith(crewElections, among) {
		select {
		case <-c.judge.begun:
		case <-timeout:
			c.Fatalf("%s and its like do not lead all elections", among[0].name)
		}
	}
}

// distribution says how the durations are distributed.
func distribution(all []time.Duration) string {
	slices.Sort(all)
	return fmt.Sprintf("n=%d p50 %v p90 %v p99 %v max %v", len(all), all[len(all)/2], all[len(all)*9/10], all[len(all)*99/100], all[len(all)-1])
}

// TestOnTheAPIServer moves twenty elections back and forth between members of two revisions on the real
// API server, and looks for a moment in which two worked.
func TestOnTheAPIServer(t *testing.T) {
	c := newCrew(t)
	m1, m2, m3 := c.join("m1", "stable", stable), c.join("m2", "stable", stable), c.join("m3", "canary", stable)
	members := []*member{m1, m2, m3}
	c.wait(m1, m2)
	var latencies []time.Duration
	for i := range 10 {
		to, gain := canary, []*member{m3}
		if i%2 != 0 {
			to, gain = stable, []*member{m1, m2}
		}
		at := time.Now()
		for _, m := range members {
			m.prefs.values <- to
		}
		c.wait(gain...)
		latencies = append(latencies, c.judge.begunSince(at)...)
	}
	for _, m := range members {
		m.leave(t)
	}
	for _, o := range c.judge.overlaps() {
		t.Error(o)
	}
	t.Logf("%d terms; takeover %s", c.judge.terms(), distribution(latencies))
}

// TestLeavingOnTheAPIServer has the preferred member come and leave again and again. The other member
// sees for a moment that the leaver is ready, but hands nothing back to it.
func TestLeavingOnTheAPIServer(t *testing.T) {
	c := newCrew(t)
	rest := c.join("stable", "stable", canary)
	c.wait(rest)
	const rounds = 10
	for i := range rounds {
		leaver := c.join(fmt.Sprintf("canary-%d", i), "canary", canary)
		c.wait(leaver)
		leaver.leave(t)
		c.wait(rest)
	}
	rest.leave(t)
	for _, o := range c.judge.overlaps() {
		t.Error(o)
	}
	t.Logf("%d terms; without work %s", c.judge.terms(), distribution(c.judge.gaps()))
	if n, want := c.judge.terms(), crewElections*(1+2*rounds); n != want {
		t.Errorf("%d terms, want %d: locks were handed back", n, want)
	}
}
