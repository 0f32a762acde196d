package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestALongerLeaseThatIsNotSeen deletes a lock whose holder is cut off and has a longer lease than the
// others. The lock's kind has a stream of its own, so a member may see the lock but not the sessions.
// Such a member cannot know of the longer lease, and must not wait only for its own before it takes the
// lock.
func TestALongerLeaseThatIsNotSeen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.stop = time.Second
		other := memory.New(g.clock)
		var store *memory.Store
		with := func(profile func(*election.Config, *election.Spec)) func(*election.Config, *election.Spec) {
			return func(c *election.Config, s *election.Spec) {
				profile(c, s)
				store = other.Store()
				s.Locks, s.Renewal = byName{store}, record.RenewalRecord
			}
		}
		g.bend = with(longer)
		m1 := g.join("m1", "stable", stable)
		of1 := store
		after(50 * time.Second)
		hangAll(m1.store)
		hangAll(of1)
		if !other.Delete("a") {
			t.Error("no lock was held")
		}
		g.bend = with(quick)
		m2 := g.join("m2", "stable", stable)
		m2.store.On(memory.List, memory.Hang())
		after(70 * time.Second)
		m2.store.Heal()
		m1.store.Heal()
		of1.Heal()
		after(40 * time.Second)
		if len(leaders(m1, m2)["a"]) != 1 {
			t.Errorf("led by %v, want one", leaders(m1, m2))
		}
		g.end(m1, m2)
	})
}
