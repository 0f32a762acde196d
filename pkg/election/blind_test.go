package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestABlindMemberAnswersForItsTake has the store carry out a take of a member late, when the member sees nothing of the store any
// more, though its beats are stored. It checks that another member leads soon all the same, also if the blind member has given the
// election up meanwhile (rule answer-for-your-writes).
func TestABlindMemberAnswersForItsTake(t *testing.T) {
	for name, removed := range map[string]bool{"it takes part": false, "it gave the election up": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				m1 := g.join("m1", "stable", stable)
				after(30 * time.Second)
				m2 := g.join("m2", "stable", stable)
				after(30 * time.Second)
				g.bend = func(c *election.Config, _ *election.Spec) { c.Member.Location = record.Remote }
				m3 := g.join("m3", "stable", stable) // comes after m2
				after(30 * time.Second)
				taken := make(chan struct{})
				m2.store.On(memory.Put, memory.Named("a", func(ctx context.Context, c memory.Call, op func() error) error {
					blind(m2.store)
					m2.store.On(memory.Put, memory.Named("a", memory.Hang()))
					go func() {
						defer close(taken)
						<-clock.NewTimer(12 * time.Second).C
						if err := op(); err != nil {
							t.Errorf("the take was not carried out: %v", err)
						}
					}()
					return memory.Hang()(ctx, c, op)
				}))
				m3.store.On(memory.Put, memory.Named("a", func(ctx context.Context, c memory.Call, op func() error) error {
					select {
					case <-taken:
						return op()
					default:
						return memory.Hang()(ctx, c, op)
					}
				}))
				m1.leave(t)
				if removed {
					after(3 * time.Second)
					if err := m2.manager.Apply(election.Change{Remove: []string{"a"}}); err != nil {
						t.Fatal(err)
					}
				}
				<-taken
				after(90 * time.Second)
				g.wantLeader("a", m3, m2, m3)
				m2.store.Heal()
				m3.store.Heal()
				after(60 * time.Second)
				m2.leave(t)
				g.end(m3)
			})
		})
	}
}

// TestABlindMemberIsNotReady checks that nobody hands over to a member that has seen nothing of the store for a while, though its beats are
// stored: it would not take the lock.
func TestABlindMemberIsNotReady(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "canary", stable)
		after(30 * time.Second)
		blind(m2.store)
		after(40 * time.Second)
		m1.prefs.values <- canary
		m2.prefs.values <- canary
		after(30 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		if n := g.judge.terms(); n != 1 {
			t.Errorf("%d terms: the leader handed over in vain", n)
		}
		m2.store.Heal()
		after(90 * time.Second)
		g.wantLeader("a", m2, m1, m2)
		m1.leave(t)
		g.end(m2)
	})
}
