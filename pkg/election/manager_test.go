package election_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

var stable, canary = record.Prefer("stable"), record.Prefer("canary")

// inBubble runs a test in virtual time. A leaked goroutine fails it.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// verdict fails the test for every moment in which two worked. It also expects a number of terms, so
// that a test in which nothing happened fails.
func (g *group) verdict(terms int) {
	g.t.Helper()
	for _, o := range g.judge.overlaps() {
		g.t.Error(o)
	}
	if got := g.judge.terms(); got != terms {
		g.t.Errorf("%d terms, want %d", got, terms)
	}
}

func (g *group) wantLeader(election string, want *member, members ...*member) {
	g.t.Helper()
	got := leaders(members...)[election]
	if want == nil && len(got) == 0 || want != nil && len(got) == 1 && got[0] == want.name {
		return
	}
	name := "nobody"
	if want != nil {
		name = want.name
	}
	g.t.Errorf("%s is led by %v, want %s", election, got, name)
}

func TestJudgeSeesPlantedOverlap(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		j := newJudge()
		for i, name := range []string{"a", "b"} {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { _ = j.runner(name, 0).Run(ctx, election.Term{Election: "e", Token: record.Token(i + 1)}) }()
			defer cancel()
			after(time.Second)
		}
		if got := j.overlaps(); len(got) != 1 {
			t.Fatalf("the judge saw %v, want the planted overlap", got)
		}
	})
}

func TestPreferredRevisionLeads(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		g.stop = 300 * time.Millisecond
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "canary", stable)
		after(20 * time.Second)
		for _, e := range g.names {
			g.wantLeader(e, m1, m1, m2)
		}
		m1.prefs.values <- canary
		m2.prefs.values <- canary
		after(10 * time.Second)
		for _, e := range g.names {
			g.wantLeader(e, m2, m1, m2)
		}
		m2.leave(t)
		after(time.Second)
		for _, e := range g.names {
			g.wantLeader(e, m1, m1)
			if l := m1.status[e].Leader(); l.Revision != "stable" || l.Token != m1.status[e].Token() {
				t.Errorf("%s: leader %+v, token %d", e, l, m1.status[e].Token())
			}
		}
		m1.leave(t)
		g.verdict(9)
	})
}

// TestPlannedHandoverTakesNoTime checks that when a member leaves, the handover involves no wait: the
// nominee takes the lock at once.
func TestPlannedHandoverTakesNoTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		<-g.judge.begun
		left := time.Now()
		m1.leave(t)
		if who := <-g.judge.begun; who != "m2" || time.Since(left) != 0 {
			t.Errorf("%s began after %v", who, time.Since(left))
		}
		m2.leave(t)
		g.verdict(2)
	})
}

// TestLeavingWithoutHavingLed checks that a member that never led writes nothing and stops nothing.
func TestLeavingWithoutHavingLed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(5 * time.Second)
		before := g.realm.Read("a").Record
		m2.leave(t)
		after := g.realm.Read("a").Record
		if before.HandoverTo != after.HandoverTo || before.Holder != after.Holder || before.Transitions != after.Transitions {
			t.Errorf("the lock changed from %+v to %+v", before, after)
		}
		m1.leave(t)
		g.verdict(1)
	})
}

// TestNotSyncedMovesNothing checks that a source that has not answered moves nothing, but members take
// free locks.
func TestNotSyncedMovesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		unsynced := record.Preferred{State: record.PreferredNotSynced}
		m1 := g.join("m1", "stable", unsynced)
		after(20 * time.Second)
		m2 := g.join("m2", "canary", canary)
		after(60 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		m1.prefs.values <- canary
		after(15 * time.Second)
		g.wantLeader("a", m2, m1, m2)
		m1.leave(t)
		m2.leave(t)
		g.verdict(2)
	})
}

// TestPanicGivesTheTermUp checks that a panic ends the term, not the process, and checks rule
// no-flapping: the failed member stands down and another leads.
func TestPanicGivesTheTermUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		logs := logged(g)
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(5 * time.Second)
		status, err := m1.manager.Add(election.Spec{Name: "bad"}, election.RunnerFunc(func(context.Context, election.Term) error { panic("boom") }))
		if err != nil {
			t.Fatal(err)
		}
		after(16 * time.Second) // m1 has taken the lock by now
		good, err := m2.manager.Add(election.Spec{Name: "bad"}, g.judge.runner("m2", 0))
		if err != nil {
			t.Fatal(err)
		}
		after(40 * time.Second)
		if !good.IsLeader() || status.IsLeader() {
			t.Errorf("m1 leads %v, m2 leads %v; want m2 alone", status.IsLeader(), good.IsLeader())
		}
		said := logs.FilterMessage("runner panicked; its term is over").All()
		if len(said) == 0 || said[0].Level != zapcore.ErrorLevel || said[0].ContextMap()["panic"] != "boom" || !strings.Contains(fmt.Sprint(said[0].ContextMap()["stack"]), "TestPanicGivesTheTermUp") {
			t.Errorf("the log says of the panic: %v", said)
		}
		for _, e := range logs.All() {
			if err := fmt.Sprint(e.ContextMap()["error"]); strings.Contains(err, "goroutine") {
				t.Errorf("%s: a stack stands in the error: %s", e.Message, err)
			}
		}
		g.wantLeader("a", m1, m1, m2)
		m1.leave(t)
		m2.leave(t)
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
	})
}

// TestGoexitGivesTheTermUp checks that a runner that ends its goroutine, which neither returns nor panics, has failed like
// any other. Without that its member would lead for ever without work. The test checks the same of a runner that does so
// when it is told to stop, and of disabled elections.
func TestGoexitGivesTheTermUp(t *testing.T) {
	for name, disabled := range map[string]bool{"an election": false, "a disabled one": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t)
				logs := logged(g)
				m1 := g.join("m1", "stable", stable)
				status, err := m1.manager.Add(election.Spec{Name: "bad", Disabled: disabled, Bootstrap: election.BootstrapImmediate}, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
					if term.Cycle > 1 {
						<-ctx.Done()
					}
					runtime.Goexit()
					return nil
				}))
				if err != nil {
					t.Fatal(err)
				}
				after(5 * time.Minute)
				if !status.IsLeader() || status.Cycle() != 2 {
					t.Errorf("after the first runner ended its goroutine: cycle %d, leads: %v", status.Cycle(), status.IsLeader())
				}
				said := func() int { return logs.FilterField(zap.Error(election.ErrGoexit)).Len() }
				if said() != 1 {
					t.Error("the log does not say why the first term ended")
				}
				m1.stop()
				after(time.Minute)
				if said() != 2 {
					t.Error("the log does not say that the second runner ended its goroutine")
				}
				select {
				case err := <-m1.done:
					if err != nil {
						t.Error(err)
					}
				case err := <-m1.aborted:
					t.Errorf("the process ends: %v", err)
				default:
					t.Error("Run has not returned a minute after the stop")
				}
			})
		})
	}
}

// TestStubbornRunnerEndsTheProcess checks that a function that does not stop ends the process, at the end
// of its grace; its lock is not released before.
func TestStubbornRunnerEndsTheProcess(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.stop = 20 * time.Second // the grace is 5 s
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		stopped := time.Now()
		m1.stop()
		err := <-m1.aborted
		if got := time.Since(stopped); got != 5*time.Second {
			t.Errorf("aborted %v after the stop, want 5s", got)
		}
		if !strings.Contains(err.Error(), "election a") || !strings.Contains(err.Error(), "did not stop") {
			t.Errorf("abort says %v", err)
		}
		if holder := g.realm.Read("a").Record.Holder; holder == "" {
			t.Error("the lock was released while the runner works")
		}
		if err := <-m1.done; err != nil {
			t.Error(err)
		}
	})
}

func TestAddRemoveAddAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		for round := range 3 {
			status, err := m1.manager.Add(election.Spec{Name: "late"}, g.judge.runner("m1", 0))
			if err != nil {
				t.Fatal(err)
			}
			transitions := status.Watch(context.Background())
			after(20 * time.Second)
			if !status.IsLeader() || status.Cycle() != 1 {
				t.Errorf("round %d: leads %v, cycle %d", round, status.IsLeader(), status.Cycle())
			}
			if err := m1.manager.Remove(t.Context(), "late"); err != nil {
				t.Fatal(err)
			}
			last := machine.Role(0)
			for tr := range transitions {
				last = tr.Role
			}
			if last != machine.Following || status.IsLeader() {
				t.Errorf("round %d: last role %v, leads %v", round, last, status.IsLeader())
			}
			if holder := g.realm.Read("late").Record.Holder; holder != "" {
				t.Errorf("round %d: %q still holds the removed election", round, holder)
			}
		}
		g.wantLeader("a", m1, m1)
		m1.leave(t)
		g.verdict(4)
	})
}

func TestSpecAndConfigErrors(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		for _, c := range []struct {
			spec election.Spec
			want string
		}{
			{election.Spec{}, `election ""`},
			{election.Spec{Name: "a"}, "exists already"},
			{election.Spec{Name: "b", Lock: "a"}, `lock "a" is already used by election a`},
			{election.Spec{Name: "b", Lock: "primacy-edge-x-0"}, "reserved for the group's sessions"},
			{election.Spec{Name: "b", MigrateFrom: &election.LockRef{Lock: "primacy-edge-x-0", Locks: m1.store}}, "reserved for the group's sessions"},
			{election.Spec{Name: "UPPER"}, "lower-case"},
			{election.Spec{Name: "b", Foreign: machine.Foreigners{Wait: 999 * time.Millisecond}}, "foreign wait 999ms must be at least 1s (set it to 3 x renewDeadline + retryPeriod"},
			{election.Spec{Name: "b", Foreign: machine.Foreigners{Wait: -time.Second}}, "must be at least 1s"},
			{election.Spec{Name: "b", Foreign: machine.Foreigners{Wait: math.MaxInt64}}, "must be at most 35040h0m0s"},
			{election.Spec{Name: "b", Timing: record.Timing{LeaseDuration: 1500 * time.Millisecond, RenewInterval: time.Second}}, "whole number of seconds"},
			{election.Spec{Name: "b", Timing: record.Timing{LeaseDuration: 5 * time.Second, RenewInterval: 2 * time.Second, StopGrace: 2 * time.Second}}, "at least 2 x renewInterval"},
		} {
			if _, err := m1.manager.Add(c.spec, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Add(%+v): %v, want an error with %q", c.spec, err, c.want)
			}
		}
		m1.leave(t)
		if _, err := m1.manager.Add(election.Spec{Name: "c"}, nil); !errors.Is(err, election.ErrStopped) {
			t.Errorf("Add after Run: %v", err)
		}
		if err := m1.manager.Run(t.Context()); !errors.Is(err, election.ErrStopped) {
			t.Errorf("second Run: %v", err)
		}
		if err := m1.manager.Remove(t.Context(), "nope"); err == nil {
			t.Error("an unknown election was removed")
		}
	})
}

// TestBeatsGoOnAfterRemoval checks rule loss-is-definite: a member that gives an election up and takes it
// up again uses no beat twice.
func TestBeatsGoOnAfterRemoval(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		last := uint64(0)
		for range 3 {
			if err := m1.manager.Remove(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if _, err := m1.manager.Add(election.Spec{Name: "a"}, nil); err != nil {
				t.Fatal(err)
			}
			after(20 * time.Second)
			beat := g.realm.Read("a").Record.Mark.Beat
			if beat <= last {
				t.Errorf("beat %d after %d", beat, last)
			}
			last = beat
		}
		m1.leave(t)
	})
}
