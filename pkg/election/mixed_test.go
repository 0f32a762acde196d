package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// beside makes a group in which "open" fails open and sessions renew "b".
func beside(t *testing.T) *group {
	g := newGroup(t, "open", "b")
	g.differ = func(s *election.Spec) {
		if s.Name == "open" {
			s.Outage.Mode = machine.OutageFailOpen
		}
	}
	return g
}

// TestFailOpenBesideSessions checks that a term that fails open outlives an outage although its member
// also holds locks through a session, whose beats it does not see meanwhile.
func TestFailOpenBesideSessions(t *testing.T) {
	for _, out := range []struct {
		name string
		off  func(*member)
	}{{"refused", away}, {"silent", silent}} {
		t.Run(out.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := beside(t)
				m1 := g.join("m1", "stable", stable)
				after(40 * time.Second)
				m2, m3 := g.join("m2", "stable", stable), g.join("m3", "stable", stable)
				after(11 * time.Second)
				g.wantLeader("open", m1, m1, m2, m3)
				all := []*member{m1, m2, m3}
				for _, m := range all {
					out.off(m)
				}
				for i := range 45 {
					after(time.Second)
					if s := m1.status["open"]; !s.IsLeader() || s.Cycle() != 1 {
						t.Errorf("the term that fails open has ended after %d s", i+1)
						break
					}
				}
				if m1.status["b"].IsLeader() {
					t.Error("b does not fail open")
				}
				for _, m := range all {
					m.store.Heal()
				}
				after(60 * time.Second)
				g.wantLeader("open", m1, m1, m2, m3)
				if n := m1.status["open"].Cycle(); n != 1 {
					t.Errorf("term %d after the outage", n)
				}
				if n := len(leaders(all...)["b"]); n != 1 {
					t.Errorf("%d lead b after the outage", n)
				}
				for _, m := range all {
					m.leave(t)
				}
				for _, o := range g.judge.overlaps() {
					t.Error(o)
				}
			})
		})
	}
}

// TestBlindBesideFailOpen checks that a member that sees nothing while the store answers gives up what
// depends on its sight; the term that fails open goes on.
func TestBlindBesideFailOpen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := beside(t)
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		m1.store.On(memory.Deliver, memory.Hang())
		m1.store.On(memory.List, memory.Hang())
		after(75 * time.Second)
		g.wantLeader("b", m2, m1, m2)
		if s := m1.status["open"]; !s.IsLeader() || s.Cycle() != 1 {
			t.Errorf("the term that fails open: leads: %v, cycle %d", s.IsLeader(), s.Cycle())
		}
		m1.store.Heal()
		m2.leave(t)
		m1.leave(t)
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
	})
}

// silent makes all of a member's requests to the store, and the stream, hang.
func silent(m *member) {
	for _, op := range []memory.Op{memory.Get, memory.Put, memory.List, memory.Watch, memory.Deliver} {
		m.store.On(op, memory.Hang())
	}
}
