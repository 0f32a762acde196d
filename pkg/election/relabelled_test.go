package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestARelabelledSession checks rule owned-through-its-session: after each of a session's beats, somebody
// moves the session to another group. While the session's owner beats nobody takes what the session
// renewed, though streams break. Once the owner is gone others do.
func TestARelabelledSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.stop = 300 * time.Millisecond
		g.bend = func(c *election.Config, s *election.Spec) {
			c.Timing, _ = record.Profile("fast")
			s.Bootstrap = machine.BootstrapImmediate
		}
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(20 * time.Second)
		relabel := func() {
			g.realm.Edit(slot("m1"), func(o *codec.Object) { o.Labels[lock.GroupLabel] = "another" })
		}
		m1.store.On(memory.Put, memory.Named(slot("m1"), func(_ context.Context, _ memory.Call, op func() error) error {
			m2.store.CutWatches()
			err := op()
			relabel()
			g.realm.Compact()
			return err
		}))
		after(30 * time.Second)
		if led := leaders(m1, m2)["a"]; len(led) != 1 || led[0] != "m1" {
			t.Errorf("a is led by %v while m1 beats", led)
		}
		m1.store.Heal()
		after(20 * time.Second)
		hangAll(m1.store) // as good as killed
		after(time.Second)
		relabel()
		after(time.Minute)
		if led := leaders(m1, m2)["a"]; len(led) != 1 || led[0] != "m2" {
			t.Errorf("a is led by %v after m1's death", led)
		}
		m1.store.Heal()
		g.end(m1, m2)
	})
}
