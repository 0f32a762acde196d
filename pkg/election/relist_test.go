package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestAnAdditionWhileListsFail adds an election whose lock only a list can show, while lists fail or hang and the
// watch goes on. It checks that the terms of the member go on, that the member adds the election once lists
// pass, and that a watch that breaks meanwhile is watched anew.
func TestAnAdditionWhileListsFail(t *testing.T) {
	for name, fault := range map[string]memory.Hook{
		"refused": memory.Reject(lock.ErrUnknown),
		"hanging": forHalfAMinute,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a", "b")
				m1 := g.join("m1", "stable", stable)
				after(20 * time.Second)
				if err := m1.manager.Remove(t.Context(), "b"); err != nil {
					t.Fatal(err)
				}
				m1.store.On(memory.List, fault)
				status, err := m1.manager.Add(election.Spec{Name: "b"}, g.judge.runner("m1", 1))
				if err != nil {
					t.Fatal(err)
				}
				after(5 * time.Minute)
				g.wantLeader("a", m1, m1)
				if n := m1.status["a"].Cycle(); n != 1 {
					t.Errorf("the term of a did not go on: %d terms", n)
				}
				if status.IsLeader() {
					t.Error("b is led although no list has shown its lock")
				}
				m1.store.Heal()
				after(time.Minute)
				if !status.IsLeader() {
					t.Error("b is not led although lists pass again")
				}
				if n := m1.status["a"].Cycle(); n != 1 {
					t.Errorf("the term of a did not outlast the list: %d terms", n)
				}
				g.end(m1)
			})
		})
	}
}

// TestAWatchThatFallsSilentBeforeATrialList checks that a member does not wait for a trial list that never comes if its
// watch shows nothing any more: there is nothing to lose.
func TestAWatchThatFallsSilentBeforeATrialList(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		if err := m1.manager.Remove(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		m1.store.On(memory.List, memory.Once(memory.Hang()))
		m1.store.On(memory.Deliver, memory.Once(memory.Hang()))
		status, err := m1.manager.Add(election.Spec{Name: "b"}, g.judge.runner("m1", 1))
		if err != nil {
			t.Fatal(err)
		}
		after(20 * time.Second)
		if !status.IsLeader() {
			t.Error("b is not led")
		}
		g.wantLeader("a", m1, m1)
		g.end(m1)
	})
}
