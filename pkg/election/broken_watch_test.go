package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
)

// TestAReleasedLockWhoseTermsFailOpen has the watch of a member break again and again, as behind a proxy that lets no connection last.
// It checks that the member takes a lock whose terms fail open soon after the holder has released it: whoever releases a lock does no
// work, so the member need not let it write first after each break.
func TestAReleasedLockWhoseTermsFailOpen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.bend = func(_ *election.Config, s *election.Spec) {
			s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: time.Minute}
		}
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(30 * time.Second)
		for n := range 40 {
			if n == 10 {
				m1.leave(t)
			}
			m2.store.CutWatches()
			after(3 * time.Second)
		}
		if !m2.status["a"].IsLeader() {
			t.Error("nobody leads")
		}
		g.end(m2)
	})
}
