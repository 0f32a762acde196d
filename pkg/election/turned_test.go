package election_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestOppositeMovesEndUpLed restarts members with opposite moves, so that each comes to hold one lock. It
// checks that one after the other releases its lock, that one leads within some leaseDurations, and that
// the log says what is wrong.
func TestOppositeMovesEndUpLed(t *testing.T) {
	const bound = 20 * 15 * time.Second
	for _, moves := range [][]int{{0, 1}, {1, 0}, {0, 0, 1}, {0, 1, 1}, {1, 0, 0, 1}, {0, 1, 1, 1}} {
		for range 5 {
			t.Run(fmt.Sprint(moves), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					g := newGroup(t)
					core, logged := observer.New(zap.WarnLevel)
					g.bend = func(c *election.Config, _ *election.Spec) { c.Log = zap.New(core) }
					other := g.idleBeside()
					var members []*roaming
					for n := range moves {
						members = append(members, g.roam(fmt.Sprintf("m%d", n), "two kinds", other))
					}
					after(20 * time.Second)
					inner := func(n int) *memory.Store { // the store of the lock that a member takes last
						return []*memory.Store{members[n].store, members[n].locks[1].Locks.(byName).Store}[moves[n]]
					}
					for n, to := range moves {
						inner(n).On(memory.Put, memory.Named("a", memory.Reject(lock.ErrDenied)))
						members[n].has(to, members[n].locks[1-to])
					}
					after(10 * time.Second) // by then the member that takes each lock first holds it
					for n := range moves {
						inner(n).Heal()
					}
					after(bound)
					if at := workers(g.judge, "e"); len(at) != 1 {
						t.Errorf("at work: %v", at)
					}
					if n := logged.FilterMessageSnippet("opposite").Len(); n == 0 {
						t.Error("nobody says what is wrong")
					}
					for _, m := range members {
						m.leave(t)
					}
					for _, o := range g.judge.overlaps() {
						t.Error(o)
					}
				})
			})
		}
	}
}

// TestWhoCannotWriteTheNewLockLetsGo checks that a member lets go of the old lock if the store refuses its writes of the
// new one, for as long as another member may lead that can write both.
func TestWhoCannotWriteTheNewLockLetsGo(t *testing.T) {
	for to := range 2 {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t)
			other := g.idleBeside()
			m1, m2 := g.roam("m1", "two kinds", other), g.roam("m2", "two kinds", other)
			[]*memory.Store{m1.store, m1.locks[1].Locks.(byName).Store}[to].On(memory.Put, memory.Named("a", memory.Reject(lock.ErrDenied)))
			m1.has(to, m1.locks[1-to])
			after(time.Minute) // m1 holds the old lock
			m2.has(to, m2.locks[1-to])
			after(20 * 15 * time.Second)
			if at := workers(g.judge, "e"); !slices.Equal(at, []string{"m2"}) {
				t.Errorf("at work: %v", at)
			}
			m1.leave(t)
			m2.leave(t)
			for _, o := range g.judge.overlaps() {
				t.Error(o)
			}
		})
	}
}

// TestWhoCannotSeeTheNewLockLetsGo does the same with a member that may not list the new lock: it takes no lock that it has not seen,
// and so writes none that the store could refuse.
func TestWhoCannotSeeTheNewLockLetsGo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		other := g.idleBeside()
		m1, m2 := g.roam("m1", "two kinds", other), g.roam("m2", "two kinds", other)
		m1.locks[1].Locks.(byName).Store.On(memory.List, memory.Reject(lock.ErrDenied))
		m1.has(1, m1.locks[0])
		after(time.Minute) // m1 holds the old lock
		m2.has(1, m2.locks[0])
		after(5 * 15 * time.Second)
		if at := workers(g.judge, "e"); !slices.Equal(at, []string{"m2"}) {
			t.Errorf("at work: %v", at)
		}
		g.end(m1.member, m2.member)
	})
}

// TestWhoCouldWriteNothingComesBackSoon takes from all members the right to write the new lock, for an hour, so that each has let go
// of the old lock for longer each time. It checks that one leads soon after they have the right: also if there is only one, and if
// whoever held the old lock then dies.
func TestWhoCouldWriteNothingComesBackSoon(t *testing.T) {
	for n := range 16 { // chance decides whether the other member waits when the holder dies
		to, dies, alone := n%2, n/2%4 < 2, n/2%4 == 2
		inBubble(t, func(t *testing.T) {
			g := newGroup(t)
			other := g.idleBeside()
			m1, m2 := g.roam("m1", "two kinds", other), g.roam("m2", "two kinds", other)
			stores := func(m *roaming) []*memory.Store { return []*memory.Store{m.store, m.locks[1].Locks.(byName).Store} }
			for _, m := range []*roaming{m1, m2} {
				stores(m)[to].On(memory.Put, memory.Named("a", memory.Reject(lock.ErrDenied)))
				if m == m1 || !alone {
					m.has(to, m.locks[1-to])
				}
			}
			after(time.Hour)
			old, holder := []*memory.Realm{other, g.realm}[to], m1
			for patience := 0; old.Read("a").Record.Holder == "" && patience < 45; patience++ {
				after(time.Second)
			}
			if old.Read("a").Record.Holder == "" {
				t.Errorf("to %d: nobody has tried for long", to)
			}
			if strings.HasPrefix(old.Read("a").Record.Holder, "m2") {
				holder = m2
			}
			for _, m := range []*roaming{m1, m2} {
				stores(m)[to].Heal()
			}
			if dies {
				for _, s := range stores(holder) {
					hangAll(s)
				}
			}
			after(6 * 15 * time.Second)
			if at := workers(g.judge, "e"); len(at) != 1 {
				t.Errorf("to %d, one dies %v, one alone %v: at work: %v", to, dies, alone, at)
			}
			for _, s := range stores(holder) {
				s.Heal()
			}
			g.end(m1.member, m2.member)
			for _, o := range g.judge.overlaps() {
				t.Error(o)
			}
		})
	}
}

// TestWhoLetGoComesBackAtOnce checks that a member that released the old lock, since another had held the
// new one for long, comes back once that other member is gone: it is then the only one that can lead.
func TestWhoLetGoComesBackAtOnce(t *testing.T) {
	for n := range 8 { // chance decides how long it would stay away
		to := n % 2
		inBubble(t, func(t *testing.T) {
			g := newGroup(t)
			other := g.realm.Beside()
			m1, m2 := g.roam("m1", "two kinds", other), g.roam("m2", "two kinds", other)
			m1.has(to)
			after(20 * time.Second)
			m2.has(to, m2.locks[1-to])
			after(time.Hour) // m2 stays away longer each time
			for _, s := range []*memory.Store{m1.store, m1.locks[1].Locks.(byName).Store} {
				hangAll(s)
			}
			after(90 * time.Second)
			if at := workers(g.judge, "e"); len(at) != 1 || at[0] != "m2" {
				t.Errorf("to %d: at work: %v", to, at)
			}
			for _, s := range []*memory.Store{m1.store, m1.locks[1].Locks.(byName).Store} {
				s.Heal()
			}
			g.end(m1.member, m2.member)
		})
	}
}
