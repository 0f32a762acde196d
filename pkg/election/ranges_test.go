package election_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// offsetClock has a wall clock that is wrong by an offset, which a test may change.
type offsetClock struct {
	clocktest.Bubble
	by *atomic.Int64
}

func (c offsetClock) Wall() time.Time { return c.Bubble.Wall().Add(time.Duration(c.by.Load())) }

func ranged(c *election.Config, s *election.Spec) { s.Range = true }

func second(t time.Time) int64 { return t.Unix() }

// TestRange checks that a range extends from the time of the acquisition to the last committed renewal +
// leaseDuration. Failed renewals, and those of unknown outcome, do not change it.
func TestRange(t *testing.T) {
	for name, fail := range map[string]func(*memory.Store){
		"denied":       func(s *memory.Store) { s.On(memory.Put, memory.Reject(fmt.Errorf("%w: no", lock.ErrDenied))) },
		"hangs":        func(s *memory.Store) { s.On(memory.Put, memory.Hang()) },
		"unknown":      func(s *memory.Store) { s.On(memory.Put, memory.Reject(lock.ErrUnknown)) },
		"nothing goes": func(s *memory.Store) { hangAll(s); s.CutWatches() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.bend = func(c *election.Config, s *election.Spec) {
					ranged(c, s)
					c.Timing, _ = record.Profile("default")
					c.Timing.LeaseDuration = 20 * time.Second
				}
				m1 := g.join("m1", "stable", stable)
				status := m1.status["a"]
				if _, _, ok := status.Range(); ok {
					t.Error("a range before the first term")
				}
				var began time.Time
				m1.store.On(memory.Put, memory.Named("a", func(_ context.Context, _ memory.Call, op func() error) error {
					began = time.Now() // of the last write before the first term
					return op()
				}))
				for !status.IsLeader() {
					after(10 * time.Millisecond)
				}
				m1.store.Heal()
				after(60 * time.Second)
				start, end, ok := status.Range()
				r := g.realm.Read("a").Record
				if !start.Equal(start.Truncate(time.Second)) || !end.Equal(end.Truncate(time.Second)) || start.Before(began) {
					t.Errorf("[%v, %v] are not whole seconds of the term, which began after %v", start, end, began)
				}
				if !ok || !start.Equal(r.Acquired) || !end.Equal(r.Renewed.Add(20*time.Second)) || second(end)-second(start) < 50 {
					t.Errorf("range [%v, %v] %v, stored %v and %v", start, end, ok, r.Acquired, r.Renewed)
				}
				fail(m1.store)
				after(10 * time.Second)
				start2, end2, ok := status.Range()
				r = g.realm.Read("a").Record
				if !ok || !start2.Equal(start) || !end2.Equal(r.Renewed.Add(20*time.Second)) || end2.After(end.Add(3*time.Second)) {
					t.Errorf("range [%v, %v] %v after failures, which was [%v, %v]", start2, end2, ok, start, end)
				}
				after(10 * time.Second)
				if _, _, ok := status.Range(); ok || status.InRange(start) {
					t.Error("a range after the term")
				}
				m1.store.Heal()
				m1.leave(t)
			})
		})
	}
}

func TestInRange(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = ranged
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		status := m1.status["a"]
		start, end, _ := status.Range()
		for at, want := range map[time.Time]bool{
			start: true, start.Add(-1): false, start.Add(1): true,
			end: true, end.Add(-1): true, end.Add(1): false, start.Add(-time.Second): false, end.Add(time.Second): false,
		} {
			if status.InRange(at) != want {
				t.Errorf("%v in [%v, %v]: %v", at, start, end, !want)
			}
		}
		m1.leave(t)
		if status.InRange(start) {
			t.Error("in range after leaving")
		}
	})
}

// TestNoRange checks that without Spec.Range there are no ranges.
func TestNoRange(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		if _, _, ok := m1.status["a"].Range(); ok {
			t.Error("a range in an election without")
		}
		m1.leave(t)
	})
}

// TestRangeIsOverBeforeTheRelease checks that a drained holder keeps the lock until its range is over,
// and its session still ends in an orderly way. The next term starts right after the range.
func TestRangeIsOverBeforeTheRelease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = ranged
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		_, end, _ := m1.status["a"].Range()
		began := time.Now()
		m1.leave(t)
		if took := time.Since(began); took > 15*time.Second || time.Now().Before(end) {
			t.Errorf("left after %v, at %v; the range ends at %v", took, time.Now(), end)
		}
		after(time.Second)
		start, _, ok := m2.status["a"].Range()
		if gap := second(start) - second(end); !ok || gap < 1 || gap > 2 {
			t.Errorf("next range from %v (%v), after one until %v", start, ok, end)
		}
		if session := g.realm.Read("primacy-edge-m1-0").Record; !session.Released() {
			t.Errorf("the session of who left is %+v", session)
		}
		m2.leave(t)
		g.verdict(2)
	})
}

// TestRangesWithStrangeClocks checks that wall clocks that step back make no range shorter, and no range
// begins before the last one is over, even if the lock was deleted or blanked meanwhile.
func TestRangesWithStrangeClocks(t *testing.T) {
	for name, wrong := range map[string]func(g *group){
		"dies":    func(*group) {},
		"deleted": func(g *group) { g.realm.Delete("a") },
		"blanked": func(g *group) {
			g.realm.Edit("a", func(o *codec.Object) { o.Fields = codec.Fields{}; clear(o.Annotations) })
		},
		"too late": func(g *group) {
			g.realm.Edit("a", func(o *codec.Object) {
				o.Fields.Renewed = time.Date(9998, 12, 31, 0, 0, 0, 0, time.UTC)
				o.Annotations = map[string]string{"x": "y"}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				clocks := map[string]*atomic.Int64{"m1": {}, "m2": {}}
				g.bend = func(c *election.Config, s *election.Spec) {
					ranged(c, s)
					c.Clock = offsetClock{g.clock, clocks[c.Host]}
				}
				clocks["m1"].Store(int64(10 * time.Minute))
				m1 := g.join("m1", "stable", stable)
				after(40 * time.Second)
				m2 := g.join("m2", "stable", stable)
				after(10 * time.Second)
				start, end, _ := m1.status["a"].Range()
				clocks["m1"].Store(int64(5 * time.Minute))
				after(10 * time.Second)
				start2, end2, ok := m1.status["a"].Range()
				if !ok || !start2.Equal(start) || end2.Before(end) {
					t.Errorf("[%v, %v] became [%v, %v]", start, end, start2, end2)
				}
				hangAll(m1.store)
				m1.store.CutWatches()
				after(time.Second)
				wrong(g)
				after(40 * time.Second)
				g.wantLeader("a", m2, m1, m2)
				start3, end3, _ := m2.status["a"].Range()
				if !start3.After(end2) || end3.Before(start3) || start3.After(end2.Add(20*time.Second)) {
					t.Errorf("[%v, %v] after one until %v", start3, end3, end2)
				}
				m1.store.Heal()
				m1.leave(t)
				m2.leave(t)
			})
		})
	}
}

// TestRangesGoOnInAnotherLock checks that an election that is removed and put back with another lock
// continues after the last range that this member saw, whichever member's it was.
func TestRangesGoOnInAnotherLock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		clocks := map[string]*atomic.Int64{"m1": {}, "m2": {}}
		g.bend = func(c *election.Config, s *election.Spec) {
			ranged(c, s)
			c.Clock = offsetClock{g.clock, clocks[c.Host]}
		}
		clocks["m1"].Store(int64(10 * time.Minute))
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		_, end, _ := m1.status["a"].Range()
		m1.leave(t)
		if err := m2.manager.Remove(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		again, err := m2.manager.Add(election.Spec{Name: "a", Lock: "a2", Range: true}, g.judge.runner("m2", 0))
		if err != nil {
			t.Fatal(err)
		}
		after(40 * time.Second)
		if start, _, ok := again.Range(); !ok || !start.After(end) {
			t.Errorf("a range from %v, %v, after one until %v", start, ok, end)
		}
		m2.leave(t)
	})
}

// TestRangeOfALostTake checks that a take whose reply is lost, and one that is tried twice, begin their
// range where the stored one begins.
func TestRangeOfALostTake(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = ranged
		m1 := g.join("m1", "stable", stable)
		m1.store.On(memory.Put, memory.Named("a", memory.Once(memory.Delay(time.Minute))))
		after(10 * time.Second)
		m1.store.On(memory.Put, memory.Named("a", memory.Lose()))
		after(40 * time.Second)
		start, end, ok := m1.status["a"].Range()
		r := g.realm.Read("a").Record
		if !ok || !start.Equal(r.Acquired) || end.After(r.Renewed.Add(15*time.Second)) || start.After(time.Now()) {
			t.Errorf("range [%v, %v] %v, stored %v and %v", start, end, ok, r.Acquired, r.Renewed)
		}
		after(30 * time.Second)
		if again, _, _ := m1.status["a"].Range(); !again.Equal(start) {
			t.Errorf("the start moved from %v to %v", start, again)
		}
		m1.store.Heal()
		m1.leave(t)
	})
}

// TestRangesAreRefused checks that a Spec that combines ranges or failing open with what rules them out
// is refused.
func TestRangesAreRefused(t *testing.T) {
	m, err := election.NewManager(election.Config{Group: "edge", Host: "m", Member: election.Member{Revision: "r"}, Locks: memory.New(clocktest.Bubble{}).Store()})
	if err != nil {
		t.Fatal(err)
	}
	other := memory.New(clocktest.Bubble{}).Store()
	shared := machine.Foreigners{Sharing: machine.SharedWithClientGo}
	open := machine.Outage{Mode: machine.OutageFailOpen}
	for name, spec := range map[string]election.Spec{
		"range shared":      {Range: true, Foreign: shared},
		"range migrates":    {Range: true, MigrateFrom: &election.LockRef{Lock: "b", Locks: other}},
		"failopen shared":   {Outage: open, Foreign: shared},
		"failopen migrates": {Outage: open, MigrateFrom: &election.LockRef{Lock: "b", Locks: other}},
		"failopen too long": {Outage: machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded + 1}},
	} {
		spec.Name = "a"
		if _, err := m.Add(spec, nil); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

// TestWatchTellsOfTrouble checks that Watch tells of trouble while it lasts: jeopardy at half of the
// outage, regained when the term is renewed, lost when it is not. The watch ends with its context.
func TestWatchTellsOfTrouble(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(_ *election.Config, s *election.Spec) { s.Renewal = record.RenewalRecord }
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		status := m1.status["a"]
		ctx, cancel := context.WithCancel(t.Context())
		seen := status.Watch(ctx)
		var told []string
		collect := func() {
			for len(seen) > 0 {
				tr := <-seen
				told = append(told, fmt.Sprintf("%v", tr.Event))
			}
		}
		fails := func() { m1.store.On(memory.Put, memory.Reject(lock.ErrUnknown)) }
		atRenewal(m1, "a", fails)
		after(3 * time.Second)
		if status.InJeopardy() {
			t.Error("in jeopardy after 3 s")
		}
		after(4 * time.Second)
		if since, ok := status.SinceRenewal(); !status.InJeopardy() || !ok || since < 6*time.Second || since > 11*time.Second {
			t.Errorf("in jeopardy: %v; %v since the last renewal (%v)", status.InJeopardy(), since, ok)
		}
		m1.store.Heal()
		after(4 * time.Second)
		if status.InJeopardy() || status.Cycle() != 1 {
			t.Error("still in jeopardy, or another term")
		}
		collect()
		atRenewal(m1, "a", fails)
		after(15 * time.Second)
		m1.store.Heal()
		after(5 * time.Second)
		collect()
		want := "[jeopardy regained jeopardy role lost role role]"
		if got := fmt.Sprint(told); got != want {
			t.Errorf("told %v, want %v", got, want)
		}
		cancel()
		after(0)
		if _, open := <-seen; open {
			t.Error("the channel was not closed with its context")
		}
		m1.leave(t)
	})
}

// TestReleaseSaysWhenTheRangeEnded checks that a member that releases after its wall clock was set back
// still says when its range ended: the next holder's range begins after that, though the next holder
// never saw it.
func TestReleaseSaysWhenTheRangeEnded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		var back atomic.Int64
		g.bend = func(c *election.Config, s *election.Spec) {
			ranged(c, s)
			if c.Host == "m1" {
				c.Clock = offsetClock{g.clock, &back}
			}
		}
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		_, end, _ := m1.status["a"].Range()
		back.Store(-int64(10 * time.Minute))
		m1.leave(t)
		if r := g.realm.Read("a").Record; r.Holder != "" || r.Renewed.Before(end) {
			t.Errorf("released at %v, after a range until %v", r.Renewed, end)
		}
	})
}

// TestRangesBegunLater checks that a member with ranges that follows one without them, whose session renews the lock,
// leads in the present: that lock states a duration of a year.
func TestRangesBegunLater(t *testing.T) {
	for name, ends := range map[string]func(*testing.T, *member){
		"leaves": func(t *testing.T, m *member) { m.leave(t) },
		"is cut off": func(_ *testing.T, m *member) {
			hangAll(m.store)
			m.store.CutWatches()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.bend = func(c *election.Config, s *election.Spec) { s.Range = c.Host == "m2" }
				m1 := g.join("m1", "stable", stable)
				after(40 * time.Second)
				m2 := g.join("m2", "stable", stable)
				after(10 * time.Second)
				if r := g.realm.Read("a").Record; !r.ThroughSession() || !m1.status["a"].IsLeader() {
					t.Fatalf("no session renews the lock: %+v", r)
				}
				ends(t, m1)
				after(time.Minute)
				if now := time.Now(); !m2.status["a"].InRange(now) {
					start, end, ok := m2.status["a"].Range()
					t.Errorf("at %v the range is [%v, %v], %v", now, start, end, ok)
				}
				m1.store.Heal()
				m2.leave(t)
				if name != "leaves" {
					m1.leave(t)
				}
			})
		})
	}
}
