package election_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestARenamedGroup renames a group in a rolling restart, so members of two groups use one lock. It
// checks that the holder keeps the lock as long as its session lives, whatever its group, and no longer.
func TestARenamedGroup(t *testing.T) {
	for _, renewal := range []record.Renewal{record.RenewalSession, record.RenewalRecord} {
		t.Run(string(renewal), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a", "b")
				g.stop = 2 * time.Second
				g.renewal = func(string, string) record.Renewal { return renewal }
				named := func(group string) func(*election.Config, *election.Spec) {
					return func(c *election.Config, _ *election.Spec) { c.Group = group }
				}
				old := []*member{g.join("m1", "stable", stable), g.join("m2", "stable", stable)}
				after(60 * time.Second)
				g.bend = named("edge2")
				led := fmt.Sprint(leaders(old...))
				fresh := []*member{g.join("m3", "stable", stable)}
				after(2 * time.Minute)
				if now := fmt.Sprint(leaders(append(fresh, old...)...)); now != led {
					t.Errorf("led by %v, were led by %v", now, led)
				}
				for i, m := range old {
					m.leave(t)
					fresh = append(fresh, g.join(fmt.Sprintf("m%d", i+1), "stable", stable))
					after(10 * time.Second)
				}
				for _, e := range g.names {
					if l := leaders(fresh...)[e]; len(l) != 1 {
						t.Errorf("%s is led by %v", e, l)
					}
				}
				// A member of the former group comes back, leads once the others are gone, and dies.
				g.bend = named("edge")
				last := g.join("m4", "stable", stable)
				after(10 * time.Second)
				for _, m := range fresh {
					m.leave(t)
				}
				after(10 * time.Second)
				g.wantLeader("a", last, last)
				g.bend = named("edge2")
				heir := g.join("m5", "stable", stable)
				after(10 * time.Second)
				hangAll(last.store)
				last.store.CutWatches()
				after(40 * time.Second)
				g.wantLeader("a", heir, last, heir)
				last.store.Heal()
				after(20 * time.Second)
				g.end(last, heir)
			})
		})
	}
}
