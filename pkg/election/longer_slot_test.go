package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
)

// TestAHostComesBackWithAShorterLease checks rule published-before-held. A member loses its session, and its lock is
// deleted. The store shows it neither, so it works on for its longer lease. Another member joins from the same host with a
// shorter lease. A member that joins still later knows the longer lease all the same, and waits for it.
func TestAHostComesBackWithAShorterLease(t *testing.T) {
	comesBack(t, nil, func(g *group) {
		if !g.realm.Delete("a") {
			t.Error("no lock was held")
		}
	})
}

// TestABlankedLockOfAFormerMember checks the same for a lock that a stranger blanks instead. It names nobody whose lease could be
// looked up, and all members whose sessions are left have one configuration. So only what one of them owes tells of the longer
// lease.
func TestABlankedLockOfAFormerMember(t *testing.T) {
	comesBack(t, []string{"a"}, func(g *group) {
		g.realm.Edit("a", func(o *codec.Object) { *o = codec.Object{} })
	})
}

// comesBack has a host come back with a shorter lease while its former member is cut off and at work. Then lost does something
// to the former member's lock, and another member joins. The members between those two take part in the named elections.
func comesBack(t *testing.T, names []string, lost func(*group)) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.stop = time.Second
		bend := func(lease time.Duration) func(*election.Config, *election.Spec) {
			return func(c *election.Config, s *election.Spec) {
				quick(c, s)
				s.Timing.LeaseDuration = lease
			}
		}
		g.bend = bend(60 * time.Second)
		former := g.join("h", "stable", stable)
		after(100 * time.Second)
		g.wantLeader("a", former, former)
		g.bend = bend(5 * time.Second)
		g.names = names
		m1 := g.join("m1", "stable", stable)
		after(10 * time.Second)
		hangAll(former.store)
		after(8 * time.Second) // m1 ends its session
		again := g.join("h", "stable", stable)
		after(5 * time.Second)
		lost(g)
		g.names = []string{"a"}
		m2 := g.join("m2", "stable", stable)
		after(90 * time.Second)
		if l := leaders(m1, again, m2)["a"]; len(l) != 1 {
			t.Errorf("a is led by %v, want one of those that are not cut off", l)
		}
		former.store.Heal()
		g.end(former, m1, again, m2)
	})
}
