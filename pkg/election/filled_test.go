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

// fill has a stranger add an annotation to an object, up to the API server's limit.
func (g *group) fill(name string) {
	g.realm.Edit(name, func(o *codec.Object) {
		size := len("stranger")
		for k, v := range o.Annotations {
			size += len(k) + len(v)
		}
		o.Annotations["stranger"] = strings.Repeat("x", codec.MaxAnnotations-size)
	})
}

// TestAFullSlotIsUsed checks that members use a slot that a stranger has filled up.
func TestAFullSlotIsUsed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m1.leave(t)
		g.fill(slot("m1"))
		m1 = g.join("m1", "stable", stable)
		after(10 * time.Second)
		g.wantLeader("a", m1, m1)
		if r := g.realm.Read(slot("m1")).Record; r == nil || r.Holder == "" {
			t.Error("the slot is not used")
		}
		g.end(m1)
	})
}

// TestAFullLockIsLed checks that a lock that a stranger has filled up is renewed, released and taken.
func TestAFullLockIsLed(t *testing.T) {
	for _, renewed := range []string{"by its session", "by its record"} {
		t.Run(renewed, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				if renewed == "by its record" {
					g.byRecord()
				}
				m1 := g.join("m1", "stable", stable)
				after(30 * time.Second)
				m2 := g.join("m2", "stable", stable)
				after(30 * time.Second)
				g.fill("a")
				after(10 * time.Minute)
				g.wantLeader("a", m1, m1, m2)
				m1.leave(t)
				after(10 * time.Second)
				g.wantLeader("a", m2, m2)
				g.end(m2)
			})
		})
	}
}

// TestALongSessionIsEnded checks that others end the session of a dead member that a stranger has filled up, or made so that it would be
// longer if it was written again.
func TestALongSessionIsEnded(t *testing.T) {
	for name, edit := range map[string]func(*group){
		"filled up": func(g *group) { g.fill(slot("m1")) },
		"longer": func(g *group) {
			g.realm.Edit(slot("m1"), func(o *codec.Object) {
				was := o.Annotations[codec.MemberAnnotation]
				o.Annotations[codec.MemberAnnotation] = strings.TrimSuffix(was, "}") + `,"disowned":[{}` + strings.Repeat(",{}", 20000) + "]}"
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a", "b")
				m1 := g.join("m1", "stable", stable)
				after(30 * time.Second)
				m2 := g.join("m2", "stable", stable)
				after(30 * time.Second)
				g.wantLeader("a", m1, m1, m2)
				mend := shut(m1.store, memory.Watch, memory.List, memory.Get, memory.Put)
				edit(g)
				after(2 * time.Minute)
				g.wantLeader("a", m2, m2)
				mend()
				g.end(m1, m2)
			})
		})
	}
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
