package election_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// Check and CheckReady have the form that health handlers want.
var _ = []func(*http.Request) error{(*election.Manager)(nil).Check, (*election.Manager)(nil).CheckReady}

// healthy compares what a member says of itself with what is wanted: nothing for all is well, else a part of the
// error.
func healthy(t *testing.T, when string, m *member, alive, ready string) {
	t.Helper()
	for _, c := range []struct {
		what, want string
		err        error
	}{{"Check", alive, m.manager.Check(nil)}, {"CheckReady", ready, m.manager.CheckReady(nil)}} {
		switch {
		case c.want == "" && c.err != nil:
			t.Errorf("%s: %s: %v", when, c.what, c.err)
		case c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)):
			t.Errorf("%s: %s: got %v, want %q", when, c.what, c.err, c.want)
		}
	}
}

// TestHealth checks what a member says of itself before it runs, while it joins, follows and leads, without the
// store, and when it leaves.
func TestHealth(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.stop = 3 * time.Second
		idle, err := election.NewManager(election.Config{Group: "edge", Host: "m9", Member: election.Member{Revision: "stable"}, Locks: g.realm.Store(), Clock: g.clock})
		if err != nil {
			t.Fatal(err)
		}
		healthy(t, "before Run", &member{manager: idle}, "", "running: the manager does not run yet")
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		g.bend = func(c *election.Config, _ *election.Spec) {
			c.Locks.(*memory.Store).On(memory.List, memory.Delay(2*time.Second))
		}
		m2 := g.join("m2", "stable", stable)
		after(time.Second)
		healthy(t, "joining", m2, "", "synced: ")
		healthy(t, "joining", m2, "", "session: no beat has come back yet")
		after(40 * time.Second)
		if l := leaders(m1, m2)["a"]; len(l) != 1 || l[0] != "m1" {
			t.Fatalf("led by %v", l)
		}
		healthy(t, "leader", m1, "", "")
		healthy(t, "follower", m2, "", "")
		if id := m2.manager.Identity(); !strings.HasPrefix(id, "m2_") {
			t.Errorf("m2 is %q", id)
		}

		for _, op := range []memory.Op{memory.Put, memory.Get, memory.List, memory.Watch} {
			m2.store.On(op, memory.Reject(lock.ErrUnknown))
		}
		m2.store.CutWatches()
		after(10 * time.Second)
		healthy(t, "store away for less than a leaseDuration", m2, "", "")
		after(6 * time.Second)
		healthy(t, "store away", m2, "", "session: its last beat that came back was sent ")
		after(time.Hour)
		healthy(t, "store away for long", m2, "", "session: ")
		m2.store.Heal()
		after(time.Minute)
		healthy(t, "store back", m2, "", "")

		m1.stop()
		after(time.Second)
		if m1.status["a"].Cycle() != 1 {
			t.Fatal("it did not work")
		}
		healthy(t, "draining", m1, "", "running: this member leaves")
		after(10 * time.Second)
		healthy(t, "stopped", m1, "driver: manager has stopped", "running: manager has stopped")
		g.end(m1, m2)
	})
}

// TestReadyKnowsThePreference checks that a member is not ready while the source of the preferred revision has not
// answered.
func TestReadyKnowsThePreference(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(c *election.Config, _ *election.Spec) { <-c.Preferences.(*prefs).values }
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		healthy(t, "no preference", m1, "", "preference: the preferred revision is not known yet")
		m1.prefs.values <- stable
		after(time.Second)
		healthy(t, "a preference", m1, "", "")
		g.end(m1)
	})
}

// TestCheckSeesAStuckDriver checks that Check fails once the host's goroutine has been held up for a leaseDuration, in
// a turn or while it leaves, that Check itself is not held up, and that it recovers.
func TestCheckSeesAStuckDriver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		var hold atomic.Bool
		g.bend = func(c *election.Config, _ *election.Spec) {
			c.Log = heldUp(40*time.Second, func(e zapcore.Entry) bool { return e.Message == "preferred revision" && hold.Swap(false) })
		}
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		hold.Store(true)
		m1.prefs.values <- canary
		after(14 * time.Second)
		healthy(t, "held up for less than a leaseDuration", m1, "", "")
		after(2 * time.Second)
		healthy(t, "held up", m1, "driver: it does not take its turns", "session: ")
		after(40 * time.Second)
		healthy(t, "goes on", m1, "", "")
		g.end(m1)
	})
}

// TestCheckSeesWorkPastItsDeadline checks that Check fails if work goes on though Abort had to end the process, and no
// longer than that.
func TestCheckSeesWorkPastItsDeadline(t *testing.T) {
	for name, disabled := range map[string]bool{"with a term": false, "of a disabled election": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.stop = 40 * time.Second // the runner does not heed its grace
				g.bend = func(c *election.Config, s *election.Spec) {
					c.Abort = func(error) {}
					s.Disabled = disabled
				}
				m1 := g.join("m1", "stable", stable)
				after(40 * time.Second)
				healthy(t, "at work", m1, "", "")
				removed := make(chan error, 1)
				go func() { removed <- m1.manager.Remove(context.Background(), "a") }()
				after(4 * time.Second)
				healthy(t, "stopping", m1, "", "")
				after(20 * time.Second)
				healthy(t, "past its deadline", m1, "work: that of election a had to be dead ", "")
				after(30 * time.Second)
				if err := <-removed; err != nil {
					t.Error(err)
				}
				healthy(t, "returned", m1, "", "")
				m1.leave(t)
			})
		})
	}
}

// TestWatchAll checks that the channel of all elections has the transitions of each, numbered, that it shows a
// receiver that it lagged, and holds nobody up.
func TestWatchAll(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m1 := g.join("m1", "stable", stable)
		ctx, cancel := context.WithCancel(context.Background())
		quick, slow := m1.manager.Watch(ctx), m1.manager.Watch(ctx)
		after(40 * time.Second)
		seen := map[string]election.Role{}
		for number := uint64(1); len(quick) > 0; number++ {
			one := <-quick
			if one.Number != number {
				t.Errorf("number %d, want %d", one.Number, number)
			}
			if one.Event == election.EventRole {
				seen[one.Election] = one.Role
			}
		}
		if seen["a"] != election.Leading || seen["b"] != election.Leading {
			t.Errorf("it shows %v", seen)
		}
		role, why, since := m1.status["a"].Role()
		if s := m1.status["a"]; role != election.Leading || why == "" || since.IsZero() || s.LeaderSince().IsZero() || s.Unready() != nil {
			t.Errorf("%v (%s) since %v, led since %v, unready %v", role, why, since, s.LeaderSince(), s.Unready())
		}
		for range 600 { // two removals and two terms each time
			for _, e := range g.names {
				if err := m1.manager.Remove(ctx, e); err != nil {
					t.Fatal(err)
				}
				if _, err := m1.manager.Add(election.Spec{Name: e, Disabled: true}, nil); err != nil {
					t.Fatal(err)
				}
			}
			after(time.Second)
			for len(quick) > 0 {
				<-quick
			}
		}
		first := <-slow
		if lagged := len(slow) + 1; first.Number == 1 || lagged != 1024 {
			t.Errorf("a receiver that lags has %d, the first with number %d", lagged, first.Number)
		}
		for number := first.Number; len(slow) > 0; { // the newest are all there
			number++
			if one := <-slow; one.Number != number {
				t.Fatalf("number %d after %d", one.Number, number-1)
			}
		}
		cancel()
		after(time.Second)
		for range slow { // until it is closed
		}
		late := m1.manager.Watch(context.Background())
		m1.leave(t)
		last := election.ElectionTransition{}
		for one := range late {
			last = one
		}
		if last.Role != election.Following {
			t.Errorf("the last transition before the end is %+v", last)
		}
		if _, open := <-m1.manager.Watch(context.Background()); open {
			t.Error("a stopped manager has transitions")
		}
	})
}

// TestReturnedWorkIsNotLate checks that Check does not fail because of work that returned before its deadline, though no
// other term has followed.
func TestReturnedWorkIsNotLate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m1 := g.join("m1", "stable", stable)
		returns := election.RunnerFunc(func(context.Context, election.Term) error { return nil })
		status, err := m1.manager.Add(election.Spec{Name: "a"}, returns)
		if err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		for range 60 {
			after(time.Second)
			healthy(t, "returned", m1, "", "")
		}
		if status.Cycle() == 0 {
			t.Error("it did not work")
		}
		g.end(m1)
	})
}

// endless is a runner whose work beyond its terms ends only once it is released.
type endless struct {
	election.Runner
	released chan struct{}
}

func (e endless) Background(context.Context) error {
	<-e.released
	return nil
}

// TestWorkBeyondTermsThatDoesNotEnd checks that the log says so once work beyond terms goes on for longer than its grace, and that Check
// fails while an election waits for that, and no longer.
func TestWorkBeyondTermsThatDoesNotEnd(t *testing.T) {
	for name, waits := range map[string]bool{"exchanged": true, "removed": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				core, logs := observer.New(zap.ErrorLevel)
				g := newGroup(t)
				g.bend = func(c *election.Config, _ *election.Spec) { c.Log = zap.New(core) }
				m1 := g.join("m1", "stable", stable)
				released := make(chan struct{})
				first := election.Entry{Spec: election.Spec{Name: "a"}, Runner: endless{g.judge.runner("m1", 0), released}}
				if err := m1.manager.Apply(put(first)); err != nil {
					t.Fatal(err)
				}
				after(40 * time.Second)
				change := election.Change{Remove: []string{"a"}}
				if waits {
					change = put(election.Entry{Spec: election.Spec{Name: "a"}, Runner: g.judge.runner("m1", 0)})
				}
				if err := m1.manager.Apply(change); err != nil {
					t.Fatal(err)
				}
				after(4 * time.Second)
				healthy(t, "within its grace", m1, "", "")
				after(20 * time.Second)
				alive := ""
				if waits {
					alive = "work: that of election a beyond its terms has gone on for "
				}
				healthy(t, "after its grace", m1, alive, "")
				if n := logs.FilterMessageSnippet("beyond its terms").Len(); n != 1 {
					t.Errorf("the log says %d times that work goes on, want once: %v", n, logs.All())
				}
				close(released)
				after(40 * time.Second)
				healthy(t, "returned", m1, "", "")
				if n := g.judge.terms(); waits != (n == 2) {
					t.Errorf("%d terms", n)
				}
				m1.leave(t)
			})
		})
	}
}

// brief is a runner whose work beyond its terms ends by itself.
type brief struct{ election.Runner }

func (brief) Background(context.Context) error { return nil }

// TestWorkBeyondTermsThatEnds checks that the log does not say that work beyond terms goes on if it ended by itself, or within its grace.
func TestWorkBeyondTermsThatEnds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		core, logs := observer.New(zap.ErrorLevel)
		g := newGroup(t)
		g.bend = func(c *election.Config, _ *election.Spec) { c.Log = zap.New(core) }
		m1 := g.join("m1", "stable", stable)
		nothing := func() {}
		for name, runner := range map[string]election.Runner{"a": brief{g.judge.runner("m1", 0)}, "b": beyond{g.judge.runner("m1", 0), nothing, nothing}} {
			if _, err := m1.manager.Add(election.Spec{Name: name}, runner); err != nil {
				t.Fatal(err)
			}
		}
		after(40 * time.Second)
		if err := m1.manager.Apply(election.Change{Remove: []string{"a", "b"}}); err != nil {
			t.Fatal(err)
		}
		after(40 * time.Second)
		if logs.Len() > 0 {
			t.Error(logs.All())
		}
		m1.leave(t)
	})
}
