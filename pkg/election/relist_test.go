package election_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// oneOf lets one of n calls through, and refuses the others.
func oneOf(n int) memory.Hook {
	calls := 0
	return func(_ context.Context, _ memory.Call, op func() error) error {
		if calls++; calls%n > 0 {
			return lock.ErrUnknown
		}
		return op()
	}
}

// TestAnAdditionWhileListsFail adds elections whose locks only a list can show, while lists fail or take long, and the
// watch goes on. It checks that the member's other term goes on, and that the elections are led once a list has come.
func TestAnAdditionWhileListsFail(t *testing.T) {
	for name, test := range map[string]struct {
		lists  memory.Hook
		passes bool
	}{
		"refused":             {memory.Reject(lock.ErrUnknown), false},
		"throttled":           {forHalfAMinute, false},
		"longer than a lease": {memory.Delay(20 * time.Second), true},
		"one of three passes": {oneOf(3), true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a", "b")
				m1 := g.join("m1", "stable", stable)
				after(20 * time.Second)
				b := m1.status["b"]
				for range 3 {
					if err := m1.manager.Remove(t.Context(), "b"); err != nil {
						t.Fatal(err)
					}
					m1.store.On(memory.List, test.lists)
					var err error
					if b, err = m1.manager.Add(election.Spec{Name: "b"}, g.judge.runner("m1", 1)); err != nil {
						t.Fatal(err)
					}
					after(time.Minute)
					if b.IsLeader() != test.passes {
						t.Errorf("b is led: %v", b.IsLeader())
					}
				}
				m1.store.Heal()
				after(time.Minute)
				if !b.IsLeader() {
					t.Error("b is not led although lists pass again")
				}
				g.wantLeader("a", m1, m1)
				if n := m1.status["a"].Cycle(); n != 1 {
					t.Errorf("the term of a did not go on: %d terms", n)
				}
				g.end(m1)
			})
		})
	}
}

// TestAWatchThatFallsSilentBeforeAList checks that a member does not wait for a list that never comes if its watch
// shows nothing any more: there is nothing to lose.
func TestAWatchThatFallsSilentBeforeAList(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		if err := m1.manager.Remove(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		m1.store.On(memory.List, memory.Once(memory.Hang()))
		m1.store.On(memory.Deliver, memory.Once(memory.Hang()))
		status, err := m1.manager.Add(election.Spec{Name: "b"}, g.judge.runner("m1", 1))
		if err != nil {
			t.Fatal(err)
		}
		after(20 * time.Second)
		if !status.IsLeader() {
			t.Error("b is not led")
		}
		g.wantLeader("a", m1, m1)
		g.end(m1)
	})
}

// TestAnAdditionApartWhileListsFail adds an election to a store that holds no sessions, while its lists fail. It checks that the member
// still sees that other elections of that store lost their holder, and takes them, and that the new one is led once lists pass.
func TestAnAdditionApartWhileListsFail(t *testing.T) {
	for name, reach := range map[string]func(*memory.Store) lock.Store{
		"by name": func(s *memory.Store) lock.Store { return byName{s} },
		"whole":   func(s *memory.Store) lock.Store { return s },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				apart := memory.New(g.clock)
				add := func(m *member, s *memory.Store, name string) {
					t.Helper()
					var err error
					if m.status[name], err = m.manager.Add(election.Spec{Name: name, Locks: reach(s)}, g.judge.runner(m.name, 1)); err != nil {
						t.Fatal(err)
					}
				}
				m1, m2 := g.join("m1", "stable", stable), g.join("m2", "stable", stable)
				of1, of2 := apart.Store(), apart.Store()
				after(20 * time.Second)
				add(m1, of1, "x")
				add(m1, of1, "y")
				after(40 * time.Second)
				add(m2, of2, "x")
				after(40 * time.Second)
				if !m1.status["x"].IsLeader() {
					t.Fatal("m1 does not lead x")
				}
				of2.On(memory.List, memory.Reject(lock.ErrUnknown))
				add(m2, of2, "y")
				after(time.Minute)
				m1.leave(t)
				after(3 * time.Second)
				if !m2.status["x"].IsLeader() {
					t.Error("nobody leads x while lists fail")
				}
				if m2.status["y"].IsLeader() {
					t.Error("y is led, although no list has shown its lock")
				}
				of2.Heal()
				after(time.Minute)
				if !m2.status["y"].IsLeader() {
					t.Error("y is not led although lists pass again")
				}
				if n := m2.status["x"].Cycle(); n != 1 {
					t.Errorf("the term of x did not go on: %d terms", n)
				}
				g.end(m2)
			})
		})
	}
}

// fussy is a store whose lists of the name "bad" fail. again has its other watches show their list once more.
type fussy struct {
	*memory.Store
	realm  *memory.Realm
	again  chan struct{}
	trials *atomic.Int32
}

func (s fussy) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	if slices.Contains(names, "bad") {
		s.trials.Add(1)
		defer s.trials.Add(-1)
		deliver(lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown})
		<-ctx.Done()
		return nil
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-s.again:
			deliver(lock.Event{Kind: lock.Listing})
			x := s.realm.Read("x")
			deliver(lock.Event{Kind: lock.Listed, List: []lock.Entry{x}, Revision: x.Version.Revision})
			deliver(lock.Event{Kind: lock.Resumed})
		}
	}()
	return byName{s.Store}.WatchNames(ctx, names, deliver)
}

// TestATrialEnds checks that a trial ends for which nobody waits, since the watch has listed by itself.
func TestATrialEnds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		realm := memory.New(g.clock)
		apart := fussy{realm.Store(), realm, make(chan struct{}), &atomic.Int32{}}
		add := func(name string) {
			t.Helper()
			if _, err := m1.manager.Add(election.Spec{Name: name, Locks: apart}, g.judge.runner("m1", 1)); err != nil {
				t.Fatal(err)
			}
			after(20 * time.Second)
		}
		remove := func(name string) {
			t.Helper()
			if err := m1.manager.Remove(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			after(20 * time.Second)
		}
		trials := func(want int32) {
			t.Helper()
			if got := apart.trials.Load(); got != want {
				t.Errorf("%d trials are under way, want %d", got, want)
			}
		}
		add("x")
		add("bad")
		trials(1)
		remove("bad")
		trials(1)
		apart.again <- struct{}{}
		after(20 * time.Second)
		trials(0)
		g.end(m1)
	})
}
