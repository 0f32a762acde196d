package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestRenewalTimesStayByTheClock checks that a lock's renewal time stays within a second of the clock,
// however often it is handed over and however short the renewal interval is.
func TestRenewalTimesStayByTheClock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.bend = func(c *election.Config, _ *election.Spec) { c.Timing, _ = record.Profile("fast") }
		m1 := g.join("m1", "stable", stable)
		after(10*time.Second + 300*time.Millisecond)
		for range 10 {
			m2 := g.join("m2", "stable", stable)
			after(1100 * time.Millisecond)
			m1.leave(t) // m2 takes the lock within the second
			if ahead := g.realm.Read("a").Record.Renewed.Sub(g.clock.Wall()); ahead > time.Second {
				t.Errorf("the lock says that it is renewed %v from now", ahead)
			}
			m1 = m2
		}
		g.end(m1)
	})
}
