package election_test

import (
	"context"
	"fmt"
	"strings"
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

// TestHungWritesHoldUpNoOthers has writes to many locks hang, of a store that answers all others. It checks that members take other
// elections there all the same, and keep leading them: elections with locks that were released, and with new ones.
func TestHungWritesHoldUpNoOthers(t *testing.T) {
	for _, led := range []bool{false, true} { // only takes hang, or renewals of terms that fail open
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "kept", "x").byRecord()
			before := g.join("m0", "stable", stable)
			after(30 * time.Second)
			g.names = nil
			m := g.join("m1", "stable", stable)
			after(5 * time.Second)
			hang := memory.Hang()
			hangs := func(ctx context.Context, c memory.Call, op func() error) error {
				if strings.HasPrefix(c.Name, "hung") {
					return hang(ctx, c, op)
				}
				return op()
			}
			if !led {
				m.store.On(memory.Put, hangs)
			}
			for i := range 80 {
				name := fmt.Sprintf("hung-%03d", i)
				lieIdle(t, g.realm, name)
				_, err := m.manager.Add(election.Spec{
					Name: name, Renewal: record.RenewalRecord, Bootstrap: machine.BootstrapImmediate,
					Outage: machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded},
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
			}
			after(time.Minute)
			m.store.On(memory.Put, hangs)
			after(30 * time.Second)
			m.names(t, "kept", "x", "new")
			after(10 * time.Second)
			before.leave(t)
			after(30 * time.Second)
			if at := leaders(m); len(at) != 3 {
				t.Errorf("terms that hang %v: led are %v", led, at)
			}
			after(5 * time.Minute)
			for e, s := range m.status {
				if s.Cycle() != 1 {
					t.Errorf("terms that hang %v: %s had %d terms", led, e, s.Cycle())
				}
			}
			m.store.Heal()
			g.end(m)
		})
	}
}

// names adds elections that are renewed by record.
func (m *member) names(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		status, err := m.manager.Add(election.Spec{Name: name, Renewal: record.RenewalRecord}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.status[name] = status
	}
}
