package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// These tests check rule published-before-held for a member that is cut off while it leads for its longer lease, and works on
// until that is over. Another member ends its session, the next member of its host uses the session's slot, and a stranger
// deletes or blanks the lock. Members with a shorter lease must wait for the longer one all the same.

// longerLeases are a group with one election, whose members lead for 60 s by their locks' own records.
func longerLeases(t *testing.T) *group {
	g := newGroup(t, "a").byRecord()
	g.stop = time.Second
	g.bend = leases(60 * time.Second)
	return g
}

func leases(lease time.Duration) func(*election.Config, *election.Spec) {
	return func(c *election.Config, s *election.Spec) {
		quick(c, s)
		s.Timing.LeaseDuration = lease
	}
}

// longSessions are the longer leases beside sessions that last longer than their writes hang.
func longSessions(c *election.Config, s *election.Spec) {
	leases(60*time.Second)(c, s)
	c.Timing, _ = record.Profile("default")
}

// shorterForB gives election b a shorter lease than the others.
func shorterForB(s *election.Spec) {
	if s.Name == "b" {
		s.Timing.LeaseDuration = 5 * time.Second
	}
}

// cutOff has the member of host h lead, and cuts it off. A member that bend changes ends its session.
func cutOff(g *group, bend func(*election.Config, *election.Spec)) (former, m1 *member) {
	former = g.join("h", "stable", stable)
	after(100 * time.Second)
	g.wantLeader("a", former, former)
	g.bend = bend
	m1 = g.join("m1", "stable", stable)
	after(10 * time.Second)
	hangAll(former.store)
	after(22 * time.Second)
	return former, m1
}

// isLed checks that somebody leads in the end.
func isLed(g *group) {
	g.t.Helper()
	after(90 * time.Second)
	if r := g.realm.Read("a").Record; r == nil || r.Holder == "" {
		g.t.Errorf("nobody leads in the end: %+v", r)
	}
}

func (g *group) blanks(name string) {
	g.realm.Edit(name, func(o *codec.Object) { *o = codec.Object{} })
}

// reload gives an election of the member a leaseDuration.
func (g *group) reload(m *member, name string, lease time.Duration) {
	var c election.Config
	spec := election.Spec{Name: name, Renewal: "record"}
	g.bend(&c, &spec)
	spec.Timing.LeaseDuration = lease
	if err := m.manager.Apply(election.Change{Put: []election.Entry{{Spec: spec, Runner: g.judge.runner(m.name, g.stop)}}}); err != nil {
		g.t.Fatal(err)
	}
}

var losses = map[string]func(*group){
	"blanked": func(g *group) { g.blanks("a") },
	"deleted": func(g *group) { g.realm.Delete("a") },
}

// TestAHostComesBackWithAShorterLease has the host come back with a shorter lease.
func TestAHostComesBackWithAShorterLease(t *testing.T) {
	for what, lose := range losses {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := longerLeases(t)
				former, m1 := cutOff(g, leases(5*time.Second))
				again := g.join("h", "stable", stable)
				after(5 * time.Second)
				lose(g)
				m2 := g.join("m2", "stable", stable)
				isLed(g)
				former.store.Heal()
				g.end(former, m1, again, m2)
			})
		})
	}
}

// TestAHostComesBackAndLeaves has the host come back with the longer lease, and leave.
func TestAHostComesBackAndLeaves(t *testing.T) {
	for what, lose := range losses {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := longerLeases(t)
				former, m1 := cutOff(g, g.bend)
				again := g.join("h", "stable", stable)
				after(3 * time.Second)
				again.leave(t)
				m1.leave(t)
				lose(g)
				g.bend = leases(5 * time.Second)
				m2 := g.join("m2", "stable", stable)
				isLed(g)
				former.store.Heal()
				g.end(former, m2)
			})
		})
	}
}

// TestAHostComesBackAndReloads has the host come back with the longer lease, and reload to a shorter one, whether or not its
// session can be written meanwhile.
func TestAHostComesBackAndReloads(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			g := longerLeases(t)
			g.bend = longSessions
			former, m1 := cutOff(g, g.bend)
			again := g.join("h", "stable", stable)
			after(4 * time.Second)
			m1.leave(t)
			g.blanks("a")
			if hangs {
				again.store.On(memory.Put, memory.Named("primacy-edge-h-0", memory.Hang()))
			}
			g.reload(again, "a", 5*time.Second)
			after(12 * time.Second)
			again.store.Heal()
			isLed(g)
			former.store.Heal()
			g.end(former, again)
		})
	}
}

// TestAHostThatLeftComesBackWithAShorterLease checks that nobody waits for a longer lease after an update in good order: its
// member ended its session itself.
func TestAHostThatLeftComesBackWithAShorterLease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := longerLeases(t)
		g.names = []string{"z"}
		former := g.join("h", "stable", stable)
		after(100 * time.Second)
		former.leave(t)
		g.names = []string{"a"}
		g.bend = leases(5 * time.Second)
		again, m2 := g.join("h", "stable", stable), g.join("m2", "stable", stable)
		after(10 * time.Second)
		if l := leaders(again, m2)["a"]; len(l) != 1 {
			t.Errorf("10 s later a is led by %v", l)
		}
		g.end(again, m2)
	})
}

// TestAnElectionHasALongerLeaseNow reloads a member so that an election has a longer lease, which another of its elections had
// before. Its session cannot be written meanwhile, so nobody else can know: it must not take that lock.
func TestAnElectionHasALongerLeaseNow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := longerLeases(t)
		g.names = []string{"a", "b"}
		g.bend = longSessions
		g.differ = shorterForB
		h := g.join("h", "stable", stable)
		after(100 * time.Second)
		h.store.On(memory.Put, memory.Named("primacy-edge-h-0", memory.Hang()))
		g.reload(h, "b", 60*time.Second)
		after(5 * time.Second)
		hangAll(h.store)
		g.blanks("b")
		y := g.join("y", "stable", stable)
		after(90 * time.Second)
		h.store.Heal()
		g.end(h, y)
	})
}

// TestAReloadThereAndBack reloads a member to a shorter lease and back. A list shows a beat of before both, which says the same as
// its session would now, while the store has the shorter lease. So others know only that one, and the member must not take the
// lock with the longer one.
func TestAReloadThereAndBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := longerLeases(t)
		g.names = []string{"a", "b"}
		g.bend = longSessions
		h := g.join("h", "stable", stable)
		after(100 * time.Second)
		h.store.On(memory.Deliver, memory.Delay(4*time.Second)) // the next beat is stored, and not shown yet
		after(3 * time.Second)
		h.store.On(memory.List, memory.DelayReply(3*time.Second))
		h.store.On(memory.Put, memory.Named("primacy-edge-h-0", memory.Delay(300*time.Millisecond)))
		g.reload(h, "b", 5*time.Second)
		after(2 * time.Second)
		h.store.On(memory.Put, memory.Named("primacy-edge-h-0", memory.Hang()))
		g.reload(h, "b", 60*time.Second)
		after(1500 * time.Millisecond)
		h.store.On(memory.Deliver, memory.Delay(0))
		h.store.On(memory.List, memory.Delay(0))
		after(5 * time.Second)
		hangAll(h.store)
		g.blanks("b")
		g.differ = shorterForB
		y := g.join("y", "stable", stable)
		after(90 * time.Second)
		h.store.Heal()
		g.end(h, y)
	})
}

// TestAMemberThatWasNeverShown has a member lead that cannot write its session, with a lease that is longer for one of its elections
// than that of others. Nobody else can know: it must not take that lock. Once its session was shown it leads.
func TestAMemberThatWasNeverShown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := longerLeases(t)
		g.names = []string{"b"}
		g.bend = func(c *election.Config, s *election.Spec) {
			longSessions(c, s)
			s.Timing.LeaseDuration = 15 * time.Second
			c.Locks.(*memory.Store).On(memory.Put, memory.Named("primacy-edge-h-0", memory.Hang()))
		}
		h := g.join("h", "stable", stable)
		after(60 * time.Second)
		hangAll(h.store)
		g.blanks("b")
		g.differ = shorterForB
		y := g.join("y", "stable", stable)
		after(60 * time.Second)
		g.wantLeader("b", y, y)
		y.leave(t)
		h.store.Heal()
		after(60 * time.Second)
		g.wantLeader("b", h, h)
		g.end(h)
	})
}

// TestAHostWhoseSessionIsUnbound has a stranger take the mark off the session of the member that is cut off, and a member with a
// shorter lease join after that. It knows of the longer one from the rest of the session.
func TestAHostWhoseSessionIsUnbound(t *testing.T) {
	for what, lose := range losses {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := longerLeases(t)
				former := g.join("h", "stable", stable)
				after(100 * time.Second)
				g.wantLeader("a", former, former)
				hangAll(former.store)
				former.store.CutWatches()
				g.realm.Edit(slot("h"), func(o *codec.Object) { delete(o.Annotations, codec.HolderAnnotation) })
				lose(g)
				g.bend = leases(5 * time.Second)
				m1 := g.join("m1", "stable", stable)
				isLed(g)
				former.store.Heal()
				g.end(former, m1)
			})
		})
	}
}
