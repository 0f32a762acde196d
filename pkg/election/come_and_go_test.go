package election_test

import (
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
		passing := func(i int) string { return fmt.Sprint("passing-", i) }
		for i := range 20 {
			change := election.Change{Put: []election.Entry{{
				Spec:   election.Spec{Name: passing(i), Bootstrap: election.BootstrapImmediate},
				Runner: g.judge.runner("m", 0),
			}}}
			if i > 0 {
				change.Remove = []string{passing(i - 1)}
			}
			if err := m.manager.Apply(change); err != nil {
				t.Fatal(err)
			}
			after(200 * time.Millisecond)
		}
		g.wantLeader("a", m, m)
		g.end(m)
	})
}
