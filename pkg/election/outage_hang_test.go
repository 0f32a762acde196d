package election_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// In these tests the writes of one lock hang, while sessions go on. So the holder's term fails open long before anything else happens.

// failsOpen makes all elections of the group fail open for any time.
func (g *group) failsOpen() {
	g.stop, g.bend = 2*time.Second, failsOpen
}

// failingOpen returns a group of three, and those; m1 leads.
func failingOpen(t *testing.T, timing, ofOthers record.Timing) (g *group, all []*member) {
	t.Helper()
	g = newGroup(t, "a")
	g.failsOpen()
	open := g.bend
	g.bend = func(c *election.Config, s *election.Spec) {
		open(c, s)
		s.Timing = timing
	}
	m1 := g.join("m1", "stable", stable)
	after(2*timing.LeaseDuration + 10*time.Second)
	timing = ofOthers
	all = []*member{m1, g.join("m2", "stable", stable), g.join("m3", "stable", stable)}
	after(2*timing.LeaseDuration + 10*time.Second)
	g.wantLeader("a", m1, all...)
	return g, all
}

// leadsOn checks that m still leads in its first term.
func leadsOn(t *testing.T, m *member) {
	t.Helper()
	if s := m.status["a"]; !s.IsLeader() || s.Cycle() != 1 {
		t.Errorf("%s does not lead on: another took the lock", m.name)
	}
}

// TestAHungLockBesideABlindMember: another member's watch stands still for about as long as the holder's session lasts.
func TestAHungLockBesideABlindMember(t *testing.T) {
	for trial := range 4 {
		inBubble(t, func(t *testing.T) {
			g, all := failingOpen(t, profile("default"), profile("default"))
			m1, m2 := all[0], all[1]
			m1.store.On(memory.Put, memory.Named("a", memory.Hang()))
			after(60*time.Second + time.Duration(trial)*370*time.Millisecond)
			m2.store.On(memory.Deliver, memory.Hang())
			after(16 * time.Second)
			m1.store.Heal()
			m2.store.Heal()
			after(30 * time.Second)
			leadsOn(t, m1)
			g.end(all...)
		})
	}
}

// TestAHungLockThenAnOutage: the store stands still for all, for a bit more than a lease, and carries out what it was asked for
// when it goes on.
func TestAHungLockThenAnOutage(t *testing.T) {
	for trial := range 6 {
		inBubble(t, func(t *testing.T) {
			g, all := failingOpen(t, profile("default"), profile("default"))
			for _, m := range all {
				m.store.On(memory.Put, memory.Named("a", memory.Hang()))
			}
			after(30*time.Second + time.Duration(trial)*370*time.Millisecond)
			back := make(chan struct{})
			for i, m := range all {
				for _, op := range []memory.Op{memory.Get, memory.Put, memory.List, memory.Watch, memory.Deliver} {
					m.store.On(op, frozen(back, rand.New(rand.NewPCG(uint64(trial), uint64(i)))))
				}
			}
			after(17 * time.Second)
			for _, m := range all {
				m.store.Heal()
			}
			close(back)
			after(30 * time.Second)
			leadsOn(t, all[0])
			g.end(all...)
		})
	}
}

// TestAHungLockOfADeadHolder: the holder dies. Nobody takes the lock before the deadline that its program was granted, whether its
// session lapses, somebody's word ends it, or another member of its host takes the session's place.
func TestAHungLockOfADeadHolder(t *testing.T) {
	quick := profile("default")
	quick.LeaseDuration, quick.RenewInterval, quick.StopGrace = 20*time.Second, time.Second, 2*time.Second
	said := func(g *group) *member {
		after(6100 * time.Millisecond)
		e := g.realm.Read(slot("m1"))
		if _, err := g.realm.Store().Put(g.t.Context(), slot("m1"), session.EndedRecord(e.Record, "ops_00000000", "ended: said to be dead"), e.Version); err != nil {
			g.t.Fatal(err)
		}
		return nil
	}
	for name, tt := range map[string]struct {
		timing, ofOthers record.Timing
		then             func(g *group) (another *member)
	}{
		"lapses":                             {profile("default"), profile("default"), lapses},
		"lapses, and the election is slower": {profile("relaxed"), profile("relaxed"), lapses},
		"a word":                             {profile("default"), profile("default"), said},
		"a word, and others are quicker":     {profile("default"), quick, said},
		"a word, and the mark was edited": {profile("default"), profile("default"), func(g *group) *member {
			g.editMark(`"session":"[^"]*"`, `"session":"primacy-edge-mx-0"`)
			return said(g)
		}},
		"a word, and its host comes back": {profile("default"), profile("default"), func(g *group) *member {
			said(g)
			return g.join("m1", "stable", stable)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for trial := range 8 {
				inBubble(t, func(t *testing.T) {
					g, all := failingOpen(t, tt.timing, tt.ofOthers)
					m1 := all[0]
					m1.store.On(memory.Put, memory.Named("a", memory.Hang()))
					after(4*tt.timing.LeaseDuration + time.Duration(trial)*500*time.Millisecond)
					g.dies(m1, all, fmt.Sprint("trial ", trial), tt.then)
				})
			}
		})
	}
}

// lapses does nothing: the session of the dead lapses.
func lapses(*group) *member { return nil }

// dies lets m, which fails open, die, and does something then. It checks that nobody takes the lock before the deadline that m's program was
// granted, and lets all leave.
func (g *group) dies(m *member, all []*member, what string, then func(*group) (another *member)) {
	g.t.Helper()
	granted := time.Now().Add(m.status["a"].ValidTerm().Deadline.Sub(g.clock.Now()))
	away(m) // nothing more of it is stored
	if another := then(g); another != nil {
		all = append(all, another)
	}
	for g.realm.Read("a").Record.Transitions == 1 {
		after(100 * time.Millisecond)
	}
	if early := time.Until(granted); early > 0 {
		g.t.Errorf("%s: taken %v before what the dead was granted", what, early)
	}
	m.store.Heal()
	after(time.Minute)
	for _, m := range all {
		m.leave(g.t)
	}
}

// TestAHungLockOfARenamedElection: one member already has another name for the election, and the same lock.
func TestAHungLockOfARenamedElection(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.failsOpen()
		g.differ = func(s *election.Spec) { s.Lock = "x" }
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		g.names = []string{"b"}
		m2 := g.join("m2", "stable", stable)
		after(40 * time.Second)
		m1.store.On(memory.Put, memory.Named("x", memory.Hang()))
		after(2 * time.Minute)
		leadsOn(t, m1)
		m1.store.Heal()
		after(time.Minute)
		g.end(m1, m2)
	})
}
