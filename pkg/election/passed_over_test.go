package election_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestManyNomineesThatDoNotCome gives the preferred revision many members that may not write the lock. It checks rule
// no-flapping: the holder hands over to each of them once, and then works for as long as it passes them over. If it forgot those
// that it passed over first, its work would be stopped again and again.
func TestManyNomineesThatDoNotCome(t *testing.T) {
	const many = 18
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(c *election.Config, _ *election.Spec) {
			c.Timing = election.Default()
			c.Timing.StandDown = 10 * time.Minute
		}
		holder := g.join("m", "stable", canary)
		after(30 * time.Second)
		all := []*member{holder}
		for i := range many {
			m := g.join(fmt.Sprintf("c%d", i), "canary", canary)
			m.store.On(memory.Put, memory.Named("a", memory.Reject(lock.ErrDenied)))
			all = append(all, m)
		}
		after(5 * time.Minute)
		before := holder.status["a"].Cycle()
		if before < many {
			t.Errorf("%d terms: not every member was nominated", before)
		}
		after(4 * time.Minute)
		if more := holder.status["a"].Cycle() - before; more > 0 {
			t.Errorf("%d more terms, one after the other, although no nominee comes", more)
		}
		g.end(all...)
	})
}
