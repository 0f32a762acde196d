package election_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestStoreFailsUnderTheLeader checks that work that a member cannot renew stops by the deadline, in
// whatever way the store fails. The member leads again, in its next cycle, once it can.
func TestStoreFailsUnderTheLeader(t *testing.T) {
	denied := fmt.Errorf("%w: no", lock.ErrDenied)
	for name, fail := range map[string]func(*memory.Store){
		"writes denied":    func(s *memory.Store) { s.On(memory.Put, memory.Reject(denied)) },
		"writes hang":      func(s *memory.Store) { s.On(memory.Put, memory.Hang()) },
		"nothing works":    func(s *memory.Store) { hangAll(s); s.CutWatches() },
		"throttled":        func(s *memory.Store) { s.On(memory.Put, memory.Reject(&lock.ThrottledError{RetryAfter: time.Minute})) },
		"replies too late": func(s *memory.Store) { s.On(memory.Put, memory.Delay(time.Minute)) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				m1 := g.join("m1", "stable", stable)
				after(20 * time.Second)
				g.wantLeader("a", m1, m1)
				fail(m1.store)
				after(15 * time.Second) // the validity is 14.925 s
				g.wantLeader("a", nil, m1)
				m1.store.Heal()
				after(90 * time.Second)
				g.wantLeader("a", m1, m1)
				if got := m1.status["a"].Cycle(); got != 2 {
					t.Errorf("cycle %d, want 2", got)
				}
				m1.leave(t)
				g.verdict(2)
			})
		})
	}
}

func hangAll(s *memory.Store) {
	for _, op := range []memory.Op{memory.Get, memory.Put, memory.List, memory.Watch, memory.Deliver} {
		s.On(op, memory.Hang())
	}
}

// TestCutOffLeaderIsReplaced checks that a cut-off leader has stopped before the other members may take
// its lock.
func TestCutOffLeaderIsReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		g.stop = 4 * time.Second // nearly all of the grace
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m2, m3 := g.join("m2", "stable", stable), g.join("m3", "stable", stable)
		after(10 * time.Second)
		hangAll(m1.store)
		m1.store.CutWatches()
		after(25 * time.Second)
		for _, e := range g.names {
			if l := leaders(m1, m2, m3)[e]; len(l) != 1 || l[0] == "m1" {
				t.Errorf("%s is led by %v", e, l)
			}
		}
		m1.store.Heal()
		after(60 * time.Second)
		for _, m := range []*member{m1, m2, m3} {
			m.leave(t)
		}
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
	})
}

// TestLostRepliesOfRenewals checks that nobody stops if only the replies to renewals are lost: the
// renewals were committed.
func TestLostRepliesOfRenewals(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "canary", stable)
		after(20 * time.Second)
		m1.store.On(memory.Put, memory.Named("a", memory.Lose()))
		after(120 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		m1.store.Heal()
		m2.leave(t)
		m1.leave(t)
		g.verdict(1)
	})
}

// TestOneRenewalMayBeLost checks that a term survives one renewal that gets no answer at all, also if its election has shorter times than
// the member's session.
func TestOneRenewalMayBeLost(t *testing.T) {
	for _, session := range []string{"fast", "default", "relaxed"} {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a").byRecord()
			g.bend = func(c *election.Config, s *election.Spec) {
				c.Timing, s.Timing = profile(session), election.Fast()
			}
			m1 := g.join("m1", "stable", stable)
			after(6 * time.Minute)
			g.wantLeader("a", m1, m1)
			begun := m1.status["a"].Cycle()
			m1.store.On(memory.Put, memory.Named("a", memory.Once(memory.Hang())))
			after(30 * time.Second)
			if m1.status["a"].Cycle() != begun || !m1.status["a"].IsLeader() {
				t.Errorf("session %s: one lost renewal ended the term", session)
			}
			g.end(m1)
		})
	}
}

// TestReleaseAfterConflict checks that a release that conflicts with a stranger's edit is tried again.
func TestReleaseAfterConflict(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m1.store.On(memory.Put, memory.Named("a", memory.Once(func(_ context.Context, _ memory.Call, op func() error) error {
			g.realm.Edit("a", func(o *codec.Object) { o.Annotations["stranger"] = "was here" })
			return op()
		})))
		m1.leave(t)
		e := g.realm.Read("a")
		raw, _ := g.realm.Raw("a")
		if !e.Record.Released() || raw.Annotations["stranger"] != "was here" {
			t.Errorf("record %+v, annotations %v", e.Record, raw.Annotations)
		}
		g.verdict(1)
	})
}

// TestDeletedLock checks that after a deletion the last holder begins a new term at once, with a higher
// token, and no other member does.
func TestDeletedLock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "canary", stable)
		after(20 * time.Second)
		first := m1.status["a"].Token()
		g.realm.Delete("a")
		after(time.Second)
		g.wantLeader("a", m1, m1, m2)
		if m1.status["a"].Token() <= first || m1.status["a"].Cycle() != 2 {
			t.Errorf("token %d after %d, cycle %d", m1.status["a"].Token(), first, m1.status["a"].Cycle())
		}
		m1.leave(t)
		m2.leave(t)
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
	})
}

// TestDeletedSession checks that a member whose session object is deleted stops everything and comes back
// under a new identity.
func TestDeletedSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		was := m1.status["a"].Leader().Identity
		g.realm.Delete("primacy-edge-m1-0")
		after(30 * time.Second)
		for _, e := range g.names {
			g.wantLeader(e, m1, m1)
			if is := m1.status[e].Leader().Identity; is == was || is == "" {
				t.Errorf("%s is led by %q, which was %q", e, is, was)
			}
			if got := m1.status[e].Cycle(); got != 2 {
				t.Errorf("%s: cycle %d, want 2", e, got)
			}
		}
		m1.leave(t)
		g.verdict(4)
	})
}

// TestSessionsEndAndAreReused checks that members that leave end their sessions, others end those of the
// dead, and the slots are used again.
func TestSessionsEndAndAreReused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "stable", stable)
		after(20 * time.Second)
		hangAll(m2.store)
		m2.store.CutWatches()
		after(40 * time.Second)
		dead := g.realm.Read("primacy-edge-m2-0").Record
		if !dead.Released() || dead.History[len(dead.History)-1].Why != "expired" {
			t.Errorf("the session of the dead is %+v", dead)
		}
		m2.store.Heal()
		after(20 * time.Second)
		m1.leave(t)
		left := g.realm.Read("primacy-edge-m1-0").Record
		if !left.Released() || left.History[len(left.History)-1].Why != "left" {
			t.Errorf("the session of who left is %+v", left)
		}
		again := g.join("m1", "stable", stable)
		after(5 * time.Second)
		entries, _ := g.realm.List()
		sessions := 0
		for _, e := range entries {
			if e.Record.IsSession() {
				sessions++
			}
		}
		if sessions > 3 {
			t.Errorf("%d sessions are stored, want no more than 3", sessions)
		}
		again.leave(t)
		m2.leave(t)
	})
}

// TestFallenMemberIsOnProbation checks rule no-flapping: for a member whose earlier session fell, no
// running term moves until others have seen it alive for a while.
func TestFallenMemberIsOnProbation(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1, m2 := g.join("m1", "stable", canary), g.join("m2", "canary", canary)
		after(30 * time.Second)
		g.wantLeader("a", m2, m1, m2)
		hangAll(m2.store) // as good as killed
		m2.store.CutWatches()
		after(40 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		m2b := g.join("m2", "canary", canary)
		after(30 * time.Second)
		g.wantLeader("a", m1, m1, m2b)
		if fallen := g.realm.Read("primacy-edge-m2-0").Record.Member.Fallen; fallen != 1 {
			t.Errorf("fallen %d, want 1", fallen)
		}
		after(60 * time.Second)
		g.wantLeader("a", m2b, m1, m2b)
		m1.leave(t)
		m2b.leave(t)
		m2.stop()
		m2.store.Heal()
		<-m2.done
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
	})
}

// TestForgivenMemberLeaves checks that a member that fell, came back, lived through its probation and
// left does not count as fallen again, though the fallen session still stands beside the one that it
// left.
func TestForgivenMemberLeaves(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "canary", stable)
		after(30 * time.Second)
		hangAll(m2.store) // as good as killed
		m2.store.CutWatches()
		again := g.join("m2", "canary", stable) // before the first member's session has lapsed
		after(10 * time.Minute)
		again.leave(t)
		after(time.Second)
		last := g.join("m2", "canary", stable)
		after(30 * time.Second)
		for _, name := range []string{"primacy-edge-m2-0", "primacy-edge-m2-1"} {
			switch r := g.realm.Read(name).Record; {
			case r == nil || r.Member == nil:
				t.Fatalf("%s is not there: this shows nothing", name)
			case r.Holder != "" && r.Member.Fallen != 0:
				t.Errorf("%s: fallen %d, want 0", name, r.Member.Fallen)
			}
		}
		g.end(m1, last)
		m2.stop()
		m2.store.Heal()
		<-m2.done
	})
}

// TestFlappingPreference checks that a preference that flips every second moves an election at most once
// per minHold.
func TestFlappingPreference(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "canary", stable)
		after(30 * time.Second)
		before := g.judge.terms()
		for i := range 60 {
			p := []record.Preferred{canary, stable}[i%2]
			m1.prefs.values <- p
			m2.prefs.values <- p
			after(time.Second)
		}
		if moves := g.judge.terms() - before; moves > 6 {
			t.Errorf("%d moves in 60 s with minHold 10s", moves)
		}
		m1.leave(t)
		m2.leave(t)
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
	})
}

// TestTwoMembersOfOneName checks that identities tell two members apart that share a host name, and so
// would write one session.
func TestTwoMembersOfOneName(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(c *election.Config, _ *election.Spec) { c.Host = "same" }
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "stable", stable)
		after(40 * time.Second)
		if l := leaders(m1, m2)["a"]; len(l) != 1 {
			t.Errorf("a is led by %v", l)
		}
		m1.leave(t)
		m2.leave(t)
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
	})
}
