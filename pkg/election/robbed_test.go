package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// steals has an elector of Istio's take the lock, and leave what it does not know in place, as it does.
func (g *group) steals(name string) {
	g.realm.Edit(name, func(o *codec.Object) {
		f := &o.Fields
		f.Holder, f.DurationSeconds, f.Transitions = "istiod-1", 30, f.Transitions+1
		f.Acquired, f.Renewed = g.clock.Wall(), g.clock.Wall()
	})
}

// gives has that elector release the lock, as electors of client-go do.
func (g *group) gives(name string) {
	g.realm.Edit(name, func(o *codec.Object) {
		f := &o.Fields
		f.Holder, f.DurationSeconds = "", 1
		f.Acquired, f.Renewed = g.clock.Wall(), g.clock.Wall()
	})
}

// TestATheftBehindALateWatch has an elector of Istio's steal the lock of a member that is cut off, and release it. Another
// member sees neither the theft nor the last renewals before it, since its watch is late: a read shows it the thief. It must
// wait until the first one has certainly stopped (rule claim-and-wait).
func TestATheftBehindALateWatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.stop = time.Second
		var locks *memory.Store // of the member that joined last
		g.bend = func(_ *election.Config, s *election.Spec) {
			locks = g.realm.Store()
			s.Locks, s.Foreign.Sharing = byName{locks}, machine.SharedWithIstio
		}
		m1 := g.join("m1", "stable", stable)
		ofM1 := locks
		after(100 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(20 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		goesOn := make(chan struct{})
		locks.On(memory.Deliver, func(ctx context.Context, _ memory.Call, op func() error) error {
			select {
			case <-goesOn:
			case <-ctx.Done():
			}
			return op()
		})
		after(13 * time.Second)
		hangAll(m1.store)
		hangAll(ofM1)
		ofM1.CutWatches()
		g.steals("a")
		after(3 * time.Second)
		close(goesOn)
		after(time.Second)
		g.gives("a")
		after(60 * time.Second)
		g.wantLeader("a", m2, m2)
		m1.store.Heal()
		ofM1.Heal()
		g.end(m2, m1)
	})
}
