package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// An election that was given up while its lock could not be released leaves nothing
// behind that releases the lock under the work of its next term (rule 5).
func TestRemovedElectionReleasesNothingLater(t *testing.T) {
	for round := range 20 {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			m1 := g.join("m1", "stable", stable)
			after(20 * time.Second)
			m1.store.On(memory.Put, memory.Named("a", memory.Hang()))
			if err := m1.manager.Remove(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			status, err := m1.manager.Add(election.Spec{Name: "a"}, g.judge.runner("m1", 0))
			if err != nil {
				t.Fatal(err)
			}
			m2 := g.join("m2", "stable", stable)
			after(3 * time.Second)
			m1.store.Heal()
			after(60 * time.Second)
			if status.Cycle() > 1 || m2.status["a"].Cycle() > 1 {
				t.Errorf("round %d: terms did not last: %d of m1, %d of m2", round, status.Cycle(), m2.status["a"].Cycle())
			}
			m1.leave(t)
			m2.leave(t)
			for _, o := range g.judge.overlaps() {
				t.Errorf("round %d: %s", round, o)
			}
		})
	}
}
