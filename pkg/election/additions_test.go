package election_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestSteadyAdditionsByName checks that elections are led although more are added before any list of their store
// can be complete, if the store is watched by name.
func TestSteadyAdditionsByName(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m := g.join("m1", "stable", stable)
		locks := byName{memory.New(g.clock).Store()}
		locks.On(memory.List, memory.Delay(1500*time.Millisecond))
		const later = 10
		var added []*election.Status
		for i := range 100 {
			status, err := m.manager.Add(election.Spec{Name: fmt.Sprintf("e%03d", i), Locks: locks, Bootstrap: election.BootstrapImmediate}, nil)
			if err != nil {
				t.Fatal(err)
			}
			added = append(added, status)
			after(1200 * time.Millisecond)
			if i >= later && !added[i-later].IsLeader() {
				t.Errorf("%s is not led %d additions later", added[i-later].Election(), later)
				break
			}
		}
		g.end(m)
	})
}
