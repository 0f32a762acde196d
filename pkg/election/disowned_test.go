package election_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

var refused = memory.Reject(fmt.Errorf("%w: not this one", lock.ErrDenied))

// TestALockThatCannotBeReleasedIsDisowned checks rules answer-for-your-writes and disowned-for-good:
// another member leads a lock that its holder cannot write; the holder's other elections stay as they
// are.
func TestALockThatCannotBeReleasedIsDisowned(t *testing.T) {
	for name, giveUp := range map[string]func(t *testing.T, m *member){
		"its election is removed": func(t *testing.T, m *member) {
			if err := m.manager.Remove(t.Context(), "b"); err != nil {
				t.Fatal(err)
			}
		},
		"another is better": func(_ *testing.T, m *member) {
			m.prefs.values <- canary
			after(25 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a", "b")
				g.differ = func(s *election.Spec) {
					if s.Name == "a" {
						s.Policy = priority.None{}
					}
				}
				m1 := g.join("m1", "stable", stable)
				after(30 * time.Second)
				m2 := g.join("m2", "canary", stable)
				after(10 * time.Second)
				token, session := m1.status["a"].Token(), g.realm.Read(slot("m1")).Version.UID
				m1.store.On(memory.Put, memory.Named("b", refused))
				m2.prefs.values <- canary
				giveUp(t, m1)
				after(5 * time.Second)
				g.wantLeader("b", m2, m2)
				g.wantLeader("a", m1, m1, m2)
				if s := m1.status["a"]; s.Token() != token || s.Cycle() != 1 {
					t.Errorf("a: token %d, cycle %d; was token %d, cycle 1", s.Token(), s.Cycle(), token)
				}
				s := g.realm.Read(slot("m1"))
				if s.Record.Released() || s.Version.UID != session {
					t.Errorf("the session has ended: %+v", s.Record)
				}
				if len(s.Record.Member.Disowned) != 0 {
					t.Errorf("%v is disowned still, though another has it", s.Record.Member.Disowned)
				}
				m1.store.Heal()
				g.end(m1, m2)
			})
		})
	}
}

// TestADisownedLockIsTakenBack checks that a member that disowned a lock leads it again once it can write
// it, under new beats that nobody considers disowned.
func TestADisownedLockIsTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		core, logs := observer.New(zap.WarnLevel)
		g.bend = func(c *election.Config, _ *election.Spec) { c.Log = zap.New(core) }
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		g.bend = nil
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		token := m1.status["b"].Token()
		var tried atomic.Int64
		m1.store.On(memory.Put, memory.Named("b", func(ctx context.Context, c memory.Call, op func() error) error {
			tried.Add(1)
			return refused(ctx, c, op)
		}))
		m2.store.On(memory.Put, memory.Named("b", refused))
		if err := m1.manager.Remove(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		tried.Store(0)
		g.realm.Edit("b", func(o *codec.Object) { o.Annotations["stranger"] = "was here" })
		after(time.Minute)
		g.wantLeader("b", nil, m2)
		if n := tried.Load() + int64(logs.FilterMessageSnippet("releasing").Len()); n != 0 {
			t.Error("m1 goes back to what it has disowned")
		}
		if d := g.realm.Read(slot("m1")).Record.Member.Disowned; len(d) != 1 || d[0].Lock != g.realm.Read("b").Version.UID {
			t.Fatalf("m1 disowned %v", d)
		}
		m1.store.Heal()
		again, err := m1.manager.Add(election.Spec{Name: "b"}, g.judge.runner("m1", 0))
		if err != nil {
			t.Fatal(err)
		}
		m1.status["b"] = again
		after(20 * time.Second)
		g.wantLeader("b", m1, m1, m2)
		if again.Token() <= token {
			t.Errorf("token %d after %d", again.Token(), token)
		}
		m2.store.Heal()
		after(time.Minute)
		g.wantLeader("b", m1, m1, m2)
		g.wantLeader("a", m1, m1, m2)
		g.end(m1, m2)
	})
}

// TestADisownedLockThatIsPutBack checks that members take a lock although a stranger changes its record for a moment
// after its holder has disowned it.
func TestADisownedLockThatIsPutBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "b")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		m1.store.On(memory.Put, memory.Named("b", refused))
		m2.store.On(memory.Put, memory.Named("b", refused))
		if err := m1.manager.Remove(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		after(time.Minute)
		var was string
		g.realm.Edit("b", func(o *codec.Object) { was, o.Fields.Holder = o.Fields.Holder, "m3_01234567" })
		after(5 * time.Second)
		if d := g.realm.Read(slot("m1")).Record.Member.Disowned; len(d) != 0 {
			t.Fatalf("m1 disowns what is no more: %v", d)
		}
		g.realm.Edit("b", func(o *codec.Object) { o.Fields.Holder = was })
		after(5 * time.Second)
		m2.store.Heal()
		after(20 * time.Second)
		g.wantLeader("b", m2, m2)
		m1.store.Heal()
		g.end(m1, m2)
	})
}

// TestTooMuchToDisownEndsTheSession checks that a session that cannot list all disowned locks ends, which
// frees them.
func TestTooMuchToDisownEndsTheSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, many(800)...)
		stop := make(chan struct{})
		defer close(stop)
		go func() { // joined when the synctest bubble ends
			for {
				select {
				case <-g.judge.begun:
				case <-stop:
					return
				}
			}
		}()
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "canary", stable)
		after(10 * time.Second)
		was := m1.status["e000"].Leader().Identity
		m1.store.On(memory.Put, func(ctx context.Context, c memory.Call, op func() error) error {
			if strings.HasPrefix(c.Name, "e") {
				return refused(ctx, c, op)
			}
			return op()
		})
		m1.prefs.values <- canary
		m2.prefs.values <- canary
		after(time.Minute)
		for _, e := range g.names {
			g.wantLeader(e, m2, m1, m2)
		}
		if now := g.realm.Read(slot("m1")).Record.Holder; now == was {
			t.Error("the session goes on")
		}
		m1.store.Heal()
		g.end(m1, m2)
	})
}

// older is the store of a member of an earlier version: it neither publishes its protocol nor sees what
// others disown.
type older struct{ *memory.Store }

func (s older) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	if r.Member != nil {
		m := *r.Member
		m.Protocol, m.Disowned = 0, nil
		r.Member = &m
	}
	return s.Store.Put(ctx, name, r, replaces)
}

func (s older) Watch(ctx context.Context, deliver func(lock.Event)) error {
	knows := func(e lock.Entry) lock.Entry {
		if e.Record != nil && e.Record.Member != nil {
			r, m := *e.Record, *e.Record.Member
			m.Disowned = nil
			r.Member = &m
			e.Record = &r
		}
		return e
	}
	return s.Store.Watch(ctx, func(e lock.Event) {
		e.Entry = knows(e.Entry)
		for i := range e.List {
			e.List[i] = knows(e.List[i])
		}
		deliver(e)
	})
}

// TestWhatAnOlderMemberWaitsForEndsTheSession checks that the session ends if there is a member of an
// earlier version, or one joins: nothing else would free the lock for that member.
func TestWhatAnOlderMemberWaitsForEndsTheSession(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("late=%v", late), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a", "b")
				m1 := g.join("m1", "stable", stable)
				after(30 * time.Second)
				was := m1.status["a"].Leader().Identity
				m1.store.On(memory.Put, memory.Named("b", refused))
				g.bend = func(c *election.Config, _ *election.Spec) { c.Locks = older{c.Locks.(*memory.Store)} }
				var m2 *member
				if !late {
					m2 = g.join("m2", "stable", stable)
					after(10 * time.Second)
				}
				if err := m1.manager.Remove(t.Context(), "b"); err != nil {
					t.Fatal(err)
				}
				if late {
					after(10 * time.Second)
					m2 = g.join("m2", "stable", stable)
				}
				after(20 * time.Second)
				g.wantLeader("b", m2, m2)
				if l := m1.status["a"].Leader().Identity; l == was {
					t.Error("the session that holds b goes on")
				}
				g.end(m1, m2)
			})
		})
	}
}

// TestDisownedInBadWeather makes all members' writes of one lock be refused, hang, be carried out late
// and get no answer, in turn, while the lock is given up again and again. It checks that no member works
// beside another, and that no other election is affected.
func TestDisownedInBadWeather(t *testing.T) {
	for trial := range uint64(12) {
		inBubble(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(trial, 23))
			g := newGroup(t, "a", "b")
			g.stop = time.Second
			m1 := g.join("m1", "stable", stable)
			after(20 * time.Second)
			all := []*member{m1, g.join("m2", "canary", stable), g.join("m3", "canary", stable)}
			g.differ = func(s *election.Spec) {
				if s.Name == "a" {
					s.Policy = priority.None{}
				}
			}
			after(10 * time.Second)
			for range 12 {
				m := all[random.IntN(len(all))]
				back := make(chan struct{})
				m.store.On(memory.Put, memory.Named("b", []memory.Hook{
					refused, memory.Hang(), memory.Lose(), frozen(back, rand.New(rand.NewPCG(random.Uint64(), 11))),
				}[random.IntN(4)]))
				p := []record.Preferred{canary, stable}[random.IntN(2)]
				for _, m := range all {
					m.prefs.values <- p
				}
				after(time.Duration(random.Int64N(int64(40 * time.Second))))
				close(back)
				if random.IntN(2) == 0 {
					m.store.Heal()
				}
				after(time.Duration(random.Int64N(int64(20 * time.Second))))
			}
			for _, m := range all {
				m.store.Heal()
			}
			after(time.Minute)
			if l := leaders(all...)["b"]; len(l) != 1 {
				t.Errorf("trial %d: b is led by %v", trial, l)
			}
			g.end(all...)
		})
	}
}
