package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestATermWithoutARunnerIsOverBeforeItsRelease checks that the Status of a term without a runner says
// that the term is over before the write that releases the lock is sent, though there is no work that
// could be told to stop.
func TestATermWithoutARunnerIsOverBeforeItsRelease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m1 := g.join("m1", "stable", stable)
		status, err := m1.manager.Add(election.Spec{Name: "a"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		after(30 * time.Second)
		if !status.IsLeader() {
			t.Fatal("a is not led")
		}
		ended := false
		status.ValidTerm().OnEnd(func(election.Stop) { ended = true })
		released := 0
		m1.store.On(memory.Put, memory.Named("a", func(_ context.Context, c memory.Call, op func() error) error {
			if released++; status.ValidTerm() != nil || !ended {
				t.Errorf("write %d goes out during the term", released)
			}
			return op()
		}))
		if err := m1.manager.Remove(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if released == 0 {
			t.Error("nothing was released")
		}
		m1.leave(t)
	})
}

// TestNobodyLeadsWhereThereIsNoLock checks that what an earlier incarnation knew of a leader no longer
// counts once the next one sees that there is no lock.
func TestNobodyLeadsWhereThereIsNoLock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(30 * time.Second)
		if l := m2.status["a"].Leader(); l.Identity == "" {
			t.Fatal("this shows nothing: m2 knows of no leader")
		}
		mayNotCreate := func() {
			m2.store.Heal()
			m2.store.On(memory.Put, memory.Named("a", refused))
		}
		mayNotCreate()
		m2.store.On(memory.Deliver, memory.Hang())
		m2.store.On(memory.List, memory.Hang())
		after(time.Second)
		m1.leave(t)
		g.realm.Delete(slot("m2"))
		g.realm.Delete("a")
		after(8 * time.Second)
		mayNotCreate()
		m2.store.CutWatches()
		after(20 * time.Second)
		if l := m2.status["a"].Leader(); l.Identity != "" {
			t.Errorf("%s leads, says m2, and there is no lock", l.Identity)
		}
		m2.store.Heal()
		g.end(m2)
	})
}
