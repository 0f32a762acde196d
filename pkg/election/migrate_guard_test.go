package election_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestGuardStopsAMigration stops all renewals of the old lock. The guard stops the work before the host,
// which is held up, learns of the stop or of the failing renewals. The host first learns that the runner
// has returned. The test checks that no work begins again, though the other lock is still renewed.
func TestGuardStopsAMigration(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		var hold atomic.Bool
		var oldStore lock.Store
		g.bend = func(c *election.Config, s *election.Spec) {
			c.Log = heldUp(50*time.Millisecond, func(e zapcore.Entry) bool { return hold.Load() && e.Level == zap.WarnLevel })
			s.MigrateFrom = &election.LockRef{Lock: "old", Locks: oldStore}
		}
		oldOfM1 := byName{g.realm.Store()}
		oldStore = oldOfM1
		m1 := g.join("m1", "stable", stable)
		after(60 * time.Second)
		g.bend = func(_ *election.Config, s *election.Spec) { s.Locks = byName{g.realm.Store()} }
		g.differ = func(s *election.Spec) { s.Lock = "old" }
		m2 := g.join("m2", "stable", stable)
		after(20 * time.Second)
		g.wantLeader("a", m1, m1, m2)

		m1.store.On(memory.Put, memory.Named("a", memory.Delay(100*time.Millisecond)))
		oldOfM1.On(memory.Put, memory.Hang())
		after(4 * time.Second) // requests that were under way have ended
		guard := m1.status["a"].ValidTerm().Deadline.Add(-profile("default").StopGrace)
		after(guard.Add(-20 * time.Millisecond).Sub(g.clock.Now()))
		hold.Store(true)
		m1.store.CutWatches() // the host logs this, and so is held up
		after(15 * time.Second)
		g.wantLeader("a", m2, m1, m2)
		select {
		case err := <-m1.aborted:
			t.Errorf("aborted: %v", err)
		default:
		}
		oldOfM1.Heal()
		m1.leave(t)
		m2.leave(t)
		g.verdict(2)
	})
}
