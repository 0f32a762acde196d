package election_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestHungWritesHoldUpTheirOwnStore checks that however many terms fail open with hanging writes in one
// store, members take elections in another store, and keep leading them.
func TestHungWritesHoldUpTheirOwnStore(t *testing.T) {
	for _, hung := range []int{10, 80} {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "kept").byRecord()
			m := g.join("m1", "stable", stable)
			maps := byName{memory.New(g.clock).Store()}
			for i := range hung {
				_, err := m.manager.Add(election.Spec{
					Name: fmt.Sprintf("e%03d", i), Locks: maps, Renewal: record.RenewalRecord, Bootstrap: machine.BootstrapImmediate,
					Outage: machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded},
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
			}
			after(time.Minute)
			maps.Store.On(memory.Put, memory.Hang())
			after(30 * time.Second)
			added, err := m.manager.Add(election.Spec{Name: "new"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			after(time.Minute)
			if !added.IsLeader() {
				t.Errorf("%d writes hang: an election of another store is not led", hung)
			}
			if cycle := m.status["kept"].Cycle(); cycle != 1 {
				t.Errorf("%d writes hang: an election of another store had %d terms", hung, cycle)
			}
			maps.Heal()
			g.end(m)
		})
	}
}
