package election_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestReadinessOfAMigration checks that a member that is not ready comes last for the old lock, too:
// otherwise it would hold the old lock while ready members hold the new one.
func TestReadinessOfAMigration(t *testing.T) {
	for _, dies := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			const elections = 12 // by lot, each member would get some
			g := newGroup(t)
			old := g.realm.Beside()
			stores := map[string]*memory.Store{}
			var members []*member
			var runners []*readied
			for _, name := range []string{"m1", "m2", "m3"} {
				m := g.join(name, "stable", stable)
				stores[name] = old.Store()
				for e := range elections {
					r := &readied{g.judge.runner(name, 0), make(chan error)}
					runners = append(runners, r)
					e := string(rune('a' + e))
					status, err := m.manager.Add(election.Spec{Name: e, MigrateFrom: &election.LockRef{Lock: e, Locks: stores[name]}}, r)
					if err != nil {
						t.Fatal(err)
					}
					m.status[e] = status
				}
				members = append(members, m)
				if name == "m1" {
					after(40 * time.Second) // m1 takes all, ready or not
				}
			}
			for _, r := range runners[:2*elections] {
				r.say <- nil // m1 and m2 are ready, m3 is not
			}
			after(10 * time.Second)
			if dies {
				for _, s := range []*memory.Store{members[0].store, stores["m1"]} {
					s.On(memory.Put, memory.Reject(fmt.Errorf("%w: gone", lock.ErrUnknown)))
					s.On(memory.Get, memory.Reject(fmt.Errorf("%w: gone", lock.ErrUnknown)))
				}
			} else {
				members[0].leave(t)
			}
			after(time.Minute)
			for e := range elections {
				g.wantLeader(string(rune('a'+e)), members[1], members[1:]...)
			}
			for _, m := range members {
				if dies || m != members[0] {
					m.leave(t)
				}
			}
			for _, o := range g.judge.overlapsOnly() {
				t.Error(o)
			}
		})
	}
}
