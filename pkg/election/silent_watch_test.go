package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestASilentWatchOfALockIsBegunAnew has the watch of a lock go silent that shows no sessions, while the store answers. It checks
// that the member takes the lock within some leaseDurations after its holder has left or died.
func TestASilentWatchOfALockIsBegunAnew(t *testing.T) {
	silent := func(dies bool) func(*testing.T) {
		return func(t *testing.T) {
			g := newGroup(t, "a").byRecord()
			other := g.realm.Beside()
			var store *memory.Store
			g.bend = func(_ *election.Config, s *election.Spec) {
				store = other.Store()
				s.Locks = byName{store}
			}
			m1 := g.join("m1", "stable", stable)
			holders := store
			after(30 * time.Second)
			m2 := g.join("m2", "stable", stable)
			after(30 * time.Second)
			store.On(memory.Deliver, memory.Hang())
			after(30 * time.Second)
			if dies {
				hangAll(m1.store)
				hangAll(holders)
			} else {
				m1.leave(t)
			}
			after(4 * 15 * time.Second)
			if !m2.status["a"].IsLeader() {
				t.Error("nobody leads")
			}
			m1.store.Heal()
			holders.Heal()
			store.Heal()
			if dies {
				m1.leave(t)
			}
			g.end(m2)
		}
	}
	t.Run("leaves", func(t *testing.T) { inBubble(t, silent(false)) })
	t.Run("dies", func(t *testing.T) { inBubble(t, silent(true)) })
}
