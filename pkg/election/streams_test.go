package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestALockIsNewerThanTheSessions watches a lock by name, while the stream of sessions stands still. The
// lock's holder restarts into the same slot and leads again, so what the others know of the slot is
// outdated. None of them may take the lock for that; once the holder is really gone, they do.
func TestALockIsNewerThanTheSessions(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.stop = 500 * time.Millisecond
		m3 := g.join("m3", "stable", stable)
		after(60 * time.Second)
		m1 := g.join("m1", "canary", stable)
		after(30 * time.Second)
		g.bend = func(c *election.Config, s *election.Spec) {
			c.Member.Location = record.Remote // it comes after m3, which it considers better
			s.Locks = byName{g.realm.Store()}
			s.Foreign = machine.Foreigners{Sharing: machine.SharedWithClientGo}
		}
		m2 := g.join("m2", "stable", stable)
		g.bend = nil
		after(30 * time.Second)
		blind(m2.store)
		m1.leave(t)
		m1 = g.join("m1", "canary", canary)
		m3.prefs.values <- canary
		for range 14 {
			after(time.Second)
			if m2.status["a"].IsLeader() {
				t.Error("taken although its holder lives, and nothing was seen of its session")
				break
			}
		}
		g.wantLeader("a", m1, m1, m2, m3)
		m2.store.Heal()
		after(30 * time.Second)
		m3.leave(t)
		g.wantLeader("a", m1, m1, m2)
		m1.leave(t)
		after(10 * time.Second)
		g.wantLeader("a", m2, m2)
		g.end(m2)
	})
}

// TestASessionOfAnotherPlaceRenewsALock checks that a member whose sessions are elsewhere than the lock takes it from nobody
// whose session renews it: it would not see that session if it lived. Once the holder has left, it takes it.
func TestASessionOfAnotherPlaceRenewsALock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.stop = time.Second
		beside := g.join("beside", "stable", stable)
		after(30 * time.Second)
		g.bend = func(c *election.Config, s *election.Spec) {
			c.Locks = memory.New(g.clock).Store()
			s.Locks = far{byName{g.realm.Store()}}
			s.Bootstrap = election.BootstrapImmediate
		}
		elsewhere := g.join("elsewhere", "stable", stable)
		after(10 * time.Minute)
		g.wantLeader("a", beside, beside, elsewhere)
		beside.leave(t)
		after(5 * time.Second)
		g.wantLeader("a", elsewhere, elsewhere)
		g.end(elsewhere)
	})
}

// far is a store in a namespace that is not that of the sessions.
type far struct{ byName }

func (far) Namespace() string { return "kube-system" }

// blind stalls what a store shows, but lets requests through.
func blind(s *memory.Store) {
	for _, op := range []memory.Op{memory.Deliver, memory.List, memory.Watch} {
		s.On(op, memory.Hang())
	}
	s.CutWatches()
}
