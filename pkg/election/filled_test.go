package election_test

import (
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestASlotThatIsFull checks that members leave a slot alone that a stranger has filled up to the API
// server's limit, until the slot is another object or says something else.
func TestASlotThatIsFull(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m1.leave(t)
		fill := func(n int) {
			g.realm.Edit(slot("m1"), func(o *codec.Object) {
				size := 0
				for k, v := range o.Annotations {
					size += len(k) + len(v)
				}
				o.Annotations["stranger"] = strings.Repeat("x", n-size)
			})
		}
		fill(codec.MaxAnnotations - 20)
		m1 = g.join("m1", "stable", stable)
		after(10 * time.Second)
		g.wantLeader("a", m1, m1)
		if r := g.realm.Read("primacy-edge-m1-1").Record; r == nil || r.Holder == "" {
			t.Error("the next slot is not used")
		}
		m1.leave(t)
		g.realm.Edit(slot("m1"), func(o *codec.Object) { delete(o.Annotations, "stranger") })
		m1 = g.join("m1", "stable", stable)
		after(10 * time.Second)
		if r := g.realm.Read(slot("m1")).Record; r == nil || r.Holder == "" {
			t.Error("a slot that is not full any more is not used")
		}
		g.end(m1)
	})
}

// TestASlotThatIsDenied checks that a member takes the next slot if it may not change what an earlier member has left, as where an
// admission plugin protects the owners of objects.
func TestASlotThatIsDenied(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m1.leave(t)
		g.bend = func(c *election.Config, _ *election.Spec) {
			c.Locks.(*memory.Store).On(memory.Put, memory.Named(slot("m1"), memory.Reject(lock.ErrDenied)))
		}
		m1 = g.join("m1", "stable", stable)
		after(10 * time.Second)
		g.wantLeader("a", m1, m1)
		m1.store.Heal()
		g.end(m1)
	})
}
