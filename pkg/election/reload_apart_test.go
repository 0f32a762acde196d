package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestAReloadBesideAnotherStream cuts a member off that leads for 60 s, in a store that has a stream of its own, and blanks its lock.
// Another member with the same configuration reloads to a lease of 5 s. Its session cannot be written for a while. It checks that
// the member waits for the longer lease as soon as it has the shorter one, even if the watch shows its session before the store answers.
func TestAReloadBesideAnotherStream(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.stop = time.Second
		other := memory.New(g.clock)
		var store *memory.Store
		g.bend = func(c *election.Config, s *election.Spec) {
			longSessions(c, s)
			if c.Locks != nil {
				store = other.Store()
			}
			s.Locks, s.Renewal = byName{store}, record.RenewalRecord
		}
		h := g.join("h", "stable", stable)
		ofH := store
		after(100 * time.Second)
		g.wantLeader("a", h, h)
		y := g.join("y", "stable", stable)
		after(20 * time.Second)
		hangAll(h.store)
		hangAll(ofH)
		after(25 * time.Second)
		other.Edit("a", func(o *codec.Object) { *o = codec.Object{} })
		y.store.On(memory.Put, memory.Named(slot("y"), memory.Reject(lock.ErrDenied)))
		g.reload(y, "a", 5*time.Second)
		after(7 * time.Second)
		y.store.On(memory.Put, memory.Named(slot("y"), memory.DelayReply(time.Second)))
		after(90 * time.Second)
		y.store.Heal()
		h.store.Heal()
		ofH.Heal()
		after(30 * time.Second)
		g.end(h, y)
	})
}
