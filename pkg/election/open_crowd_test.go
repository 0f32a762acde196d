package election_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestMoreOpenTermsThanASessionCanList checks that a member with more terms that fail open than its
// session can list keeps only the listed ones: in an outage, others take an election whose terms end.
func TestMoreOpenTermsThanASessionCanList(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		join := func(name string) *member {
			m := g.join(name, "stable", stable)
			for i := range 560 {
				_, err := m.manager.Add(election.Spec{
					Name: fmt.Sprintf("e%03d-%s", i, strings.Repeat("x", 57)), Renewal: record.RenewalRecord,
					Outage: machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded},
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
			}
			return m
		}
		m1 := join("m1")
		after(time.Minute)
		m2 := join("m2")
		after(time.Minute)
		g.wantLeader("a", m1, m1, m2)
		m1.store.On(memory.Put, memory.Named("a", memory.Hang()))
		after(time.Minute) // four leaseDurations
		if led := leaders(m1, m2)["a"]; !slices.Equal(led, []string{"m2"}) {
			t.Errorf("a is led by %v, want m2", led)
		}
		m1.store.Heal()
		g.end(m1, m2)
	})
}
