package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestALeaverOfManyLocksAnswersForItsTake checks rule answer-for-your-writes. A member leaves with so many locks that it would
// end its session instead of releasing them. It first waits for its take of a lock by record, and releases that lock.
func TestALeaverOfManyLocksAnswersForItsTake(t *testing.T) {
	const slow = time.Second
	for name, take := range map[string]memory.Hook{
		"its answer is slow":     memory.DelayReply(slow),
		"its outcome is unknown": memory.Lose(),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, many(200)...)
				m1 := g.join("m1", "stable", stable)
				after(30 * time.Second)
				m2 := g.join("m2", "stable", stable)
				after(10 * time.Second)
				if led := ledBy(m1); led != len(g.names) {
					t.Fatalf("m1 leads %d elections", led)
				}
				took := make(chan struct{})
				m1.store.On(memory.Put, memory.Named("z", func(ctx context.Context, c memory.Call, op func() error) error {
					if c.Record.Holder == "" {
						return op()
					}
					m1.store.Heal()
					m1.store.On(memory.Deliver, memory.Named("z", memory.Delay(slow)))
					m1.store.On(memory.Get, memory.Delay(slow))
					return take(ctx, c, func() error {
						defer close(took)
						return op()
					})
				}))
				z := election.Spec{Name: "z", Renewal: record.RenewalRecord}
				add := func(m *member, now election.Bootstrap) {
					z.Bootstrap = now
					var err error
					if m.status["z"], err = m.manager.Add(z, g.judge.runner(m.name, g.stop)); err != nil {
						t.Fatal(err)
					}
				}
				add(m1, election.BootstrapImmediate)
				<-took
				add(m2, election.BootstrapWait)
				m1.stop()
				after(slow + 200*time.Millisecond)
				g.wantLeader("z", m2, m2)
				m1.leave(t)
				after(time.Second)
				for _, e := range g.names {
					g.wantLeader(e, m2, m2)
				}
				g.end(m2)
			})
		})
	}
}
