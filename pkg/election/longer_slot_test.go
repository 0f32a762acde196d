package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
)

// TestAHostComesBackWithAShorterLease checks rule published-before-held. A member loses its session, and its lock is
// deleted. The store shows it neither, so it works on for its longer lease. Another member joins from the same host with a
// shorter lease. A member that joins still later knows the longer lease all the same, and waits for it.
func TestAHostComesBackWithAShorterLease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.stop = time.Second
		bend := func(lease time.Duration) func(*election.Config, *election.Spec) {
			return func(c *election.Config, s *election.Spec) {
				quick(c, s)
				s.Timing.LeaseDuration = lease
			}
		}
		g.bend = bend(60 * time.Second)
		former := g.join("h", "stable", stable)
		after(100 * time.Second)
		g.wantLeader("a", former, former)
		g.bend = bend(5 * time.Second)
		g.names = nil
		m1 := g.join("m1", "stable", stable)
		after(10 * time.Second)
		hangAll(former.store)
		after(8 * time.Second) // m1 ends its session
		again := g.join("h", "stable", stable)
		after(5 * time.Second)
		if !g.realm.Delete("a") {
			t.Error("no lock was held")
		}
		g.names = []string{"a"}
		m2 := g.join("m2", "stable", stable)
		after(90 * time.Second)
		g.wantLeader("a", m2, m1, again, m2)
		former.store.Heal()
		g.end(former, m1, again, m2)
	})
}
