package election_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// untelling is a store that cannot tell to which objects it leads.
type untelling struct{ lock.NameWatcher }

// otherStores lead to the objects of the realm's own store, but are other stores.
var otherStores = map[string]func(*group) lock.Store{
	"tells":       func(g *group) lock.Store { return byName{g.realm.Store()} },
	"cannot tell": func(g *group) lock.Store { return untelling{byName{g.realm.Store()}} },
}

// TestTwoStoresOneHolderAtWork checks that a member still knows who may be at work under a lock after a
// reload to another store of the same lock, as for a lock that becomes shared with Istio's electors.
func TestTwoStoresOneHolderAtWork(t *testing.T) {
	for name, other := range otherStores {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				m1, m2, _ := g.freedUnderWork()
				g.reachBy(m1, other(g))
				after(60 * time.Second)
				m2.store.Heal()
				m1.leave(t)
				m2.leave(t)
				for _, o := range g.judge.overlapsOnly() {
					t.Error(o)
				}
			})
		})
	}
}

// TestTwoStoresOneLockIsNoStray checks that a late take of an election that was reloaded to another store
// of the same lock does not release the new election's own term.
func TestTwoStoresOneLockIsNoStray(t *testing.T) {
	for name, other := range otherStores {
		t.Run(name, func(t *testing.T) {
			for range 10 { // either stream may be the first to show the take
				inBubble(t, func(t *testing.T) {
					g := newGroup(t, "a")
					g.stop = 4 * time.Second
					m1 := g.join("m1", "stable", stable)
					m2 := g.join("m2", "stable", stable)
					m2.store.On(memory.Put, memory.Named("a", memory.Hang()))
					late := make(chan struct{})
					m1.store.On(memory.Put, memory.Named("a", func(ctx context.Context, c memory.Call, op func() error) error {
						if c.Record.Holder == "" {
							return op()
						}
						go func() {
							<-late
							_ = op()
						}()
						<-ctx.Done()
						return fmt.Errorf("%w: %w", lock.ErrUnknown, ctx.Err())
					}))
					after(20 * time.Second)
					g.reachBy(m1, other(g))
					select {
					case <-m1.manager.Settled():
					case <-clock.NewTimer(60 * time.Second).C:
						t.Error("the reload does not settle")
					}
					after(3 * time.Second)

					// Now the store carries out the take. A release by the old store would be answered late.
					m1.store.On(memory.Put, memory.Named("a", memory.DelayReply(2800*time.Millisecond)))
					close(late)
					after(2900 * time.Millisecond)
					for _, entry := range g.realm.Read("a").Record.History {
						if strings.Contains(entry.Why, "election removed") {
							t.Errorf("the old election released the lock at %v", entry.When)
						}
					}
					m2.store.Heal()
					after(60 * time.Second)
					m1.store.Heal()
					g.end(m1, m2)
				})
			}
		})
	}
}

// reachBy reloads election a of a member, to reach its lock by another store, shared with Istio's electors.
func (g *group) reachBy(m *member, locks lock.Store) {
	g.t.Helper()
	spec := election.Spec{Name: "a", Locks: locks, Foreign: election.Foreigners{Sharing: election.SharedWithIstio}}
	if err := m.manager.Apply(put(election.Entry{Spec: spec, Runner: g.judge.runner(m.name, g.stop)})); err != nil {
		g.t.Fatal(err)
	}
}
