package election_test

import (
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
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
