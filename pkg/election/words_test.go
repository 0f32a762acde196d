package election_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestAFirstStartWarnsOfNothing checks that a group whose members all start at once for the first time
// logs no warning: a member that waits for a lock that was just made waits as it should.
func TestAFirstStartWarnsOfNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		logs := logged(g)
		m1, m2, m3 := g.join("m1", "stable", stable), g.join("m2", "stable", stable), g.join("m3", "canary", stable)
		after(2 * time.Minute)
		for _, e := range logs.FilterLevelExact(zapcore.WarnLevel).All() {
			t.Errorf("%s %v", e.Message, e.ContextMap())
		}
		g.end(m1, m2, m3)
	})
}

// TestExchangedOrRemoved checks that the reason tells members, and the lock, whether an election was
// exchanged (another of the same name took its place) or removed.
func TestExchangedOrRemoved(t *testing.T) {
	for _, disabled := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a", "b")
			g.bend = func(_ *election.Config, s *election.Spec) { s.Disabled = disabled }
			logs := logged(g)
			m := g.join("m1", "stable", stable)
			after(40 * time.Second)
			logs.TakeAll()
			again := election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
				<-ctx.Done()
				return nil
			})
			if err := m.manager.Apply(election.Change{
				Remove: []string{"b"},
				Put:    []election.Entry{{Spec: election.Spec{Name: "a", Disabled: disabled}, Runner: again}},
			}); err != nil {
				t.Fatal(err)
			}
			after(40 * time.Second)
			for name, want := range map[string]string{"a": "election exchanged", "b": "election removed"} {
				for _, e := range logs.FilterMessage("draining").All() {
					if got := e.ContextMap(); got["election"] == name && got["reason"] != want {
						t.Errorf("%s: %v", name, got)
					}
				}
				if disabled {
					continue
				}
				said := false
				for _, h := range g.realm.Read(name).Record.History {
					said = said || h.Why == "released: "+want
				}
				if !said {
					t.Errorf("the lock of %s says %v", name, g.realm.Read(name).Record.History)
				}
			}
			if n := logs.FilterMessage("draining").Len(); n != 2 {
				t.Errorf("%d stopped", n)
			}
			g.end(m)
		})
	}
}

// TestASilentWatchIsToldOfOnce checks that a watch that shows nothing is logged as a warning once,
// however often it begins anew, and also in the member's next incarnation. Once it shows something again
// the member logs that as well.
func TestASilentWatchIsToldOfOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		logs := logged(g)
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "stable", stable)
		after(60 * time.Second)
		for range 2 {
			m2.store.On(memory.Deliver, memory.Hang())
			after(5 * time.Minute)
			if n := logs.FilterMessageSnippet("the watch is silent").Len(); n != 1 {
				t.Errorf("it was said %d times that the watch is silent", n)
			}
			m2.store.Heal()
			after(time.Minute)
			if n := logs.FilterMessageSnippet("the watch shows").Len(); n != 1 {
				t.Errorf("it was said %d times that it is no more", n)
			}
			logs.TakeAll()
		}
		g.end(m1, m2)
	})
}
