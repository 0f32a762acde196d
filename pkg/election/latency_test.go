package election_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestWritesOfAMove checks P1 and P2: how many consecutive writes leadership takes to move. Here a write
// takes a fixed time and is seen at once, and nothing else takes time, so the duration of a move shows
// that there are that few writes and no waits. No other write delays these: the store performs one at a
// time.
func TestWritesOfAMove(t *testing.T) {
	const write = 3 * time.Millisecond
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(c *election.Config, s *election.Spec) {
			c.Timing, _ = record.Profile(record.DefaultProfile)
			c.Timing.PreemptDelay, c.Timing.MinHold = 0, 0
			s.Bootstrap = machine.BootstrapImmediate
		}
		revision := map[string]string{"stable-0": "stable", "stable-1": "stable", "canary-0": "canary"}
		members := map[string]*member{}
		turn := make(chan struct{}, 1)
		var mu sync.Mutex
		said := map[string]string{}
		oneByOne := func(ctx context.Context, c memory.Call, op func() error) error {
			mu.Lock()
			last, now := said[c.Name], fmt.Sprint(c.Record.Holder, c.Record.Member)
			said[c.Name] = now
			mu.Unlock()
			if c.Record.IsSession() && last == now {
				return op() // a beat at this very moment is chance
			}
			turn <- struct{}{}
			defer func() { <-turn }()
			return memory.Delay(write)(ctx, c, op)
		}
		join := func(name string, preferred election.Preference) {
			members[name] = g.join(name, revision[name], preferred)
			members[name].store.On(memory.Put, oneByOne)
			after(20 * time.Second)
		}
		for _, name := range []string{"stable-0", "stable-1", "canary-0"} {
			join(name, stable)
		}
		leader := <-g.judge.begun
		moved := func(what string, since time.Time, writes int) {
			leader = <-g.judge.begun
			if took := time.Since(since); took > time.Duration(writes)*write {
				t.Errorf("%s took %v, the time of %.1f writes; want %d", what, took, float64(took)/float64(write), writes)
			}
			after(20 * time.Second)
		}
		for i, to := range []record.Preferred{canary, stable, canary, stable} {
			since := time.Now()
			for _, m := range members {
				m.prefs.values <- to
			}
			sight := map[string]int{"canary": 1, "stable": 2} // the preferred member says that it sees the preference
			moved("a switch to "+to.Revision, since, sight[to.Revision]+2)
			if want := to.Revision; revision[leader] != want {
				t.Errorf("switch %d: %s leads, want one of %s", i, leader, want)
			}
		}
		for range 3 {
			left, since := leader, time.Now()
			members[left].stop()
			moved("a handover", since, 2)
			members[left].leave(t)
			join(left, stable)
		}
		for _, m := range members {
			m.stop()
		}
		for _, m := range members {
			m.leave(t)
		}
	})
}

// TestWhenALeavingMemberIsNotReady checks that a leaving member says soon that it is not ready if its
// work is slow to stop, so that nobody moves to it meanwhile. If its work stops at once, the releases
// come first.
func TestWhenALeavingMemberIsNotReady(t *testing.T) {
	for _, stopTime := range []time.Duration{0, 2 * time.Second} {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			g.stop = stopTime
			m := g.join("m1", "stable", stable)
			after(20 * time.Second)
			var writes []string
			since := time.Now()
			m.store.On(memory.Put, func(_ context.Context, c memory.Call, op func() error) error {
				switch took := time.Since(since).Truncate(10 * time.Millisecond).String(); {
				case !c.Record.IsSession():
					writes = append(writes, "release "+took)
				case c.Record.Holder == "":
					writes = append(writes, "end "+took)
				case !c.Record.Member.Ready:
					writes = append(writes, "not ready "+took)
				}
				return op()
			})
			m.leave(t)
			want := []string{"release 0s", "end 0s"}
			if stopTime > 0 {
				want = []string{"not ready 50ms", "release 2s", "end 2s"}
			}
			if !slices.Equal(writes, want) {
				t.Errorf("with work that stops in %v it wrote %q, want %q", stopTime, writes, want)
			}
		})
	}
}

// TestWhoLeavesIsNotPreferredAgain checks that nobody hands a lock back to a member that has just left
// it: the release says that the member leaves, however long its session still says that it is ready.
func TestWhoLeavesIsNotPreferredAgain(t *testing.T) {
	for _, write := range []struct{ leaver, nominee time.Duration }{
		{time.Millisecond, 10 * time.Millisecond},
		{10 * time.Millisecond, time.Millisecond}, // the nominee leads while the leaver's session lives
	} {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a", "b", "c")
			g.bend = handsOverAtOnce
			c0 := g.join("canary-0", "canary", canary)
			after(20 * time.Second)
			s0 := g.join("stable-0", "stable", canary)
			after(20 * time.Second)
			c0.store.On(memory.Put, memory.Delay(write.leaver))
			s0.store.On(memory.Put, memory.Delay(write.nominee))
			c0.leave(t)
			after(20 * time.Second)
			for _, e := range g.names {
				if n := s0.status[e].Cycle(); n != 1 {
					t.Errorf("%s: stable-0 is in its term %d: it gave one up for a member that was gone", e, n)
				}
			}
			if gap := slices.Max(g.judge.gaps()); gap > 100*time.Millisecond {
				t.Errorf("nobody worked for %v", gap)
			}
			s0.leave(t)
		})
	}
}

// handsOverAtOnce configures members that wait for nothing before they hand over.
func handsOverAtOnce(c *election.Config, s *election.Spec) {
	c.Timing, _ = record.Profile("fast")
	c.Timing.PreemptDelay, c.Timing.MinHold = 0, 0
	s.Bootstrap = machine.BootstrapImmediate
}

// TestANomineeThatLeavesIsNotWaitedFor checks that nobody waits for a nominee that leaves before it has
// taken the lock: its session says that it is not ready any more, or ends.
func TestANomineeThatLeavesIsNotWaitedFor(t *testing.T) {
	for _, stopTime := range []time.Duration{0, 800 * time.Millisecond} { // of b, the nominee's other work
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			g.bend = handsOverAtOnce
			s0 := g.join("stable-0", "stable", each{"b": canary})
			after(20 * time.Second)
			s1 := g.join("stable-1", "stable", each{"b": canary})
			g.names, g.stop = []string{"a", "b"}, stopTime
			c0 := g.join("canary-0", "canary", each{"b": canary})
			after(20 * time.Second)
			s0.store.On(memory.Put, memory.Delay(10*time.Millisecond))
			for _, m := range []*member{s0, s1, c0} {
				m.prefs.values <- each{"a": canary, "b": canary} // a is handed over to canary-0
			}
			synctest.Wait()
			c0.leave(t)
			after(20 * time.Second)
			if n := c0.status["a"].Cycle(); n != 0 {
				t.Fatalf("canary-0 had %d terms, so this shows nothing", n)
			}
			if gap := slices.Max(g.judge.gaps()); gap > 100*time.Millisecond {
				t.Errorf("nobody worked for %v", gap)
			}
			g.end(s0, s1)
		})
	}
}

// TestALeaverDoesNotWaitForANomineeThatHangs checks that a leaver waits for its nominee, but not for one
// that hangs: the leaver's session ends all the same, and nobody works meanwhile.
func TestALeaverDoesNotWaitForANomineeThatHangs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(_ *election.Config, s *election.Spec) { s.Bootstrap = machine.BootstrapImmediate }
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(20 * time.Second)
		m2.store.On(memory.Put, memory.Hang())
		since := time.Now()
		m1.leave(t)
		if took := time.Since(since); took != 50*time.Millisecond {
			t.Errorf("it was gone after %v, want 50ms", took)
		}
		if !g.realm.Read(slot("m1")).Record.Released() {
			t.Error("its session was not ended")
		}
		after(2 * time.Second)
		if led := leaders(m2)["a"]; len(led) != 0 {
			t.Error("this shows nothing: its nominee leads")
		}
		m2.store.Heal()
		after(time.Minute)
		if led := leaders(m2)["a"]; len(led) != 1 {
			t.Error("its nominee never leads")
		}
		g.end(m2)
	})
}

// TestALeaverThatOutranksItsNomineeDoesNotWaitForIt checks that a leaver that outranks its nominee ends
// its session at once: a nominee of an earlier version would hand the lock back while the session lives.
func TestALeaverThatOutranksItsNomineeDoesNotWaitForIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = handsOverAtOnce
		c0 := g.join("canary-0", "canary", canary)
		after(20 * time.Second)
		s0 := g.join("stable-0", "stable", canary)
		after(20 * time.Second)
		s0.store.On(memory.Put, memory.Delay(10*time.Millisecond))
		since := time.Now()
		c0.leave(t)
		if took := time.Since(since); took != 0 {
			t.Errorf("it was gone after %v", took)
		}
		after(20 * time.Second)
		g.end(s0)
	})
}

// TestAPreferenceThatFlickers checks that members to which a changing preference makes no difference
// publish it, too, and that in the end all publish the last preference.
func TestAPreferenceThatFlickers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(c *election.Config, s *election.Spec) {
			c.Timing, _ = record.Profile("fast")
			c.Timing.PreemptDelay, c.Timing.MinHold = 0, 0
			s.Bootstrap = machine.BootstrapImmediate
		}
		members := []*member{g.join("m1", "stable", stable), g.join("m2", "other", stable)}
		after(20 * time.Second)
		published := func(m *member) string { return g.realm.Read(slot(m.name)).Record.Member.Preference }
		seen := map[string]bool{}
		var last record.Preferred
		for i := range 60 {
			last = []record.Preferred{canary, stable}[i%2]
			for _, m := range members {
				m.prefs.values <- last
			}
			after(10 * time.Millisecond)
			seen[published(members[1])] = true
		}
		if len(seen) < 2 {
			t.Errorf("in 600 ms of changes it published %v", seen)
		}
		after(time.Second)
		for _, m := range members {
			if p := published(m); p != last.Digest() {
				t.Errorf("%s publishes %q in the end, want %q", m.name, p, last.Digest())
			}
		}
		if led := leaders(members...)["a"]; len(led) != 1 || led[0] != "m1" {
			t.Errorf("%v lead in the end", led)
		}
		g.end(members...)
	})
}
