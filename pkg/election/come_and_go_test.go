package election_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestElectionsThatComeAndGo adds an election, and removes the last one, more often than the store shows a session. So the session is
// never shown as it is at that moment (rule published-before-held). It checks that the elections before are led all the same.
func TestElectionsThatComeAndGo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(c *election.Config, s *election.Spec) {
			s.Bootstrap = election.BootstrapImmediate
			c.Locks.(*memory.Store).On(memory.Put, memory.Delay(300*time.Millisecond))
		}
		m := g.join("m", "stable", stable)
		g.passing(m, 20, 200*time.Millisecond)
		g.wantLeader("a", m, m)
		g.end(m)
	})
}

// passing adds n elections to the member, one each interval, and removes each when the next one comes.
func (g *group) passing(m *member, n int, interval time.Duration) {
	g.t.Helper()
	name := func(i int) string { return fmt.Sprint("passing-", i) }
	for i := range n {
		change := election.Change{Put: []election.Entry{{
			Spec:   election.Spec{Name: name(i), Bootstrap: election.BootstrapImmediate},
			Runner: g.judge.runner(m.name, 0),
		}}}
		if i > 0 {
			change.Remove = []string{name(i - 1)}
		}
		if err := m.manager.Apply(change); err != nil {
			g.t.Fatal(err)
		}
		after(interval)
	}
}

// TestNewsFasterThanTheWatch has the watch show everything half a second late, while elections come and go every 10 ms. It checks that
// the member still recognizes the beats that it is shown, so that its terms go on.
func TestNewsFasterThanTheWatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(c *election.Config, s *election.Spec) {
			quick(c, s)
			s.Bootstrap = election.BootstrapImmediate
			store := c.Locks.(*memory.Store)
			store.On(memory.Put, memory.Delay(10*time.Millisecond))
			store.On(memory.Deliver, func(ctx context.Context, c memory.Call, op func() error) error {
				if c.Record == nil {
					return op()
				}
				return memory.Delay(time.Until(c.Record.Renewed.Add(500*time.Millisecond)))(ctx, c, op)
			})
		}
		m := g.join("m", "stable", stable)
		after(20 * time.Second)
		g.wantLeader("a", m, m)
		token := g.realm.Read("a").Record.Token
		g.passing(m, 1000, 10*time.Millisecond)
		g.wantLeader("a", m, m)
		if now := g.realm.Read("a").Record.Token; now != token {
			t.Errorf("term %d is over, and term %d is on", token, now)
		}
		g.end(m)
	})
}
