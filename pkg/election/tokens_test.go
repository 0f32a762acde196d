package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
)

// TestATokenThatAStrangerSet checks that tokens of terms rise although a stranger set the token of a lock
// far too high, and the lock was deleted later.
func TestATokenThatAStrangerSet(t *testing.T) {
	for _, token := range []string{"1000000000000", "4611686018427387904", "7", "0", "none"} {
		t.Run(token, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				m1 := g.join("m1", "stable", stable)
				after(30 * time.Second)
				g.realm.Edit("a", func(o *codec.Object) { o.Annotations[codec.TokenAnnotation] = token })
				after(30 * time.Second)
				m2 := g.join("m2", "stable", stable)
				m1.leave(t)
				after(10 * time.Second)
				g.wantLeader("a", m2, m2)
				m2.leave(t)
				g.realm.Delete("a")
				m1 = g.join("m1", "stable", stable)
				after(30 * time.Second)
				g.wantLeader("a", m1, m1)
				g.end(m1)
				if n := g.judge.terms(); n < 3 {
					t.Errorf("%d terms", n)
				}
			})
		})
	}
}
