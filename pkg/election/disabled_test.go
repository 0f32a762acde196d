package election_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

func disabled(s *election.Spec) { s.Disabled = true }

// TestDisabledEveryMemberWorks checks that every member works for a disabled election, whatever happens
// to its session, and nobody creates a lock (conformance 16).
func TestDisabledEveryMemberWorks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.differ = disabled
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "canary", stable)
		after(time.Second)
		m1.store.On(memory.Put, memory.Hang()) // the session ends
		after(3 * time.Minute)
		m1.store.Heal()
		after(time.Minute)
		for _, m := range []*member{m1, m2} {
			s := m.status["a"]
			if !s.IsLeader() || s.Token() != 0 || s.Cycle() != 1 || !strings.HasPrefix(s.Leader().Identity, m.name+"_") {
				t.Errorf("%s: leader %v, token %d, cycle %d, says %+v leads", m.name, s.IsLeader(), s.Token(), s.Cycle(), s.Leader())
			}
		}
		if !g.realm.Read("a").Absent() {
			t.Error("a lock was created")
		}
		m1.leave(t)
		m2.leave(t)
		if n := g.judge.terms(); n != 2 {
			t.Errorf("%d stretches of work, want one of each member", n)
		}
		if m1.status["a"].IsLeader() {
			t.Error("still leads after it left")
		}
	})
}

// TestDisabledDeadline checks that a disabled election's work may go on only while it is extended: its
// deadline is never further away than a renewal's, and each interval makes it later.
func TestDisabledDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m := g.join("m1", "stable", stable)
		terms := make(chan election.Term, 1)
		status, err := m.manager.Add(election.Spec{Name: "a", Disabled: true}, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			terms <- term
			<-ctx.Done()
			if stop, _ := election.StopOf(ctx); stop.By != g.clock.Now().Add(5*time.Second) {
				t.Errorf("must be dead %v after the stop, want stopGrace", stop.By.Sub(g.clock.Now()))
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		term := <-terms
		if term.Fenced() {
			t.Errorf("token %d", term.Token)
		}
		for range 20 {
			deadline, _ := term.Deadline()
			if left := deadline.Sub(g.clock.Now()); left < 11*time.Second || left > 15*time.Second {
				t.Fatalf("%v left, want about a leaseDuration", left)
			}
			if v := status.ValidTerm(); v == nil || v.Deadline != deadline {
				t.Fatalf("valid is %+v, the deadline %v", v, deadline)
			}
			after(3 * time.Second)
		}
		m.leave(t)
	})
}

// TestDisabledIsChangedCleanly checks that a disabled election that is no longer disabled stops its work
// before the member takes part in it. An election that becomes disabled releases its lock before work
// goes on without it.
func TestDisabledIsChangedCleanly(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m := g.join("m1", "stable", stable)
		const stopTime = 2 * time.Second
		turn := func(disabled bool) *election.Status {
			status, err := m.manager.Add(election.Spec{Name: "a", Disabled: disabled, Bootstrap: machine.BootstrapImmediate}, g.judge.runner("m1", stopTime))
			if err != nil {
				t.Fatal(err)
			}
			after(time.Minute)
			if !status.IsLeader() {
				t.Fatalf("disabled %v: does not lead", disabled)
			}
			holder := ""
			if rec := g.realm.Read("a").Record; rec != nil {
				holder = rec.Holder
			}
			if (holder == "") != disabled {
				t.Errorf("disabled %v: the lock is held by %q", disabled, holder)
			}
			return status
		}
		for _, disabled := range []bool{true, false, true, false} {
			status := turn(disabled)
			asked := time.Now()
			if err := m.manager.Remove(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(asked); took < stopTime || status.IsLeader() {
				t.Errorf("disabled %v: removed after %v while the work takes %v to stop", disabled, took, stopTime)
			}
			if rec := g.realm.Read("a").Record; rec != nil && rec.Holder != "" {
				t.Errorf("disabled %v: removed, but the lock is held by %s", disabled, rec.Holder)
			}
		}
		m.leave(t)
		for _, o := range g.judge.overlapsOnly() {
			t.Error(o)
		}
		if n := g.judge.terms(); n != 4 {
			t.Errorf("%d stretches of work, want 4", n)
		}
	})
}

// TestDisabledWorkFails checks that work that fails begins again after a growing pause; the member does
// not lead meanwhile.
func TestDisabledWorkFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m := g.join("m1", "stable", stable)
		status, err := m.manager.Add(election.Spec{Name: "a", Disabled: true}, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			if term.Cycle < 3 {
				return errors.New("broken")
			}
			if term.Cycle == 3 {
				term.GiveUp("a part is broken")
				return errors.New("gave up")
			}
			<-ctx.Done()
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		if status.IsLeader() || status.Cycle() != 1 {
			t.Errorf("leader %v in term %d while it pauses", status.IsLeader(), status.Cycle())
		}
		after(time.Minute)
		if !status.IsLeader() || status.Cycle() != 4 {
			t.Errorf("leader %v in term %d after its failures", status.IsLeader(), status.Cycle())
		}
		m.leave(t)
		select {
		case err := <-m.aborted:
			t.Error(err)
		default:
		}
	})
}

// TestDisabledTermIsValidInItsOwnRunOnly checks that a term of a disabled election, which has no token, is not valid while
// a later term is valid, nor after the election was removed and added again.
func TestDisabledTermIsValidInItsOwnRunOnly(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m := g.join("m1", "stable", stable)
		var terms []election.Term
		spec := election.Spec{Name: "a", Disabled: true}
		work := election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			if terms = append(terms, term); len(terms) == 1 {
				return errors.New("broken")
			}
			<-ctx.Done()
			return nil
		})
		validAre := func(when string, want ...bool) {
			t.Helper()
			for i, term := range terms {
				if v := term.Valid(); (v != nil) != want[i] {
					t.Errorf("%s: term %d is valid: %v, want %v", when, i, v != nil, want[i])
				}
			}
		}
		for range 2 {
			if _, err := m.manager.Add(spec, work); err != nil {
				t.Fatal(err)
			}
			after(time.Minute)
			switch len(terms) {
			case 2:
				validAre("after a failure", false, true)
			case 3:
				validAre("added again", false, false, true)
			default:
				t.Fatalf("%d terms", len(terms))
			}
			if err := m.manager.Remove(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
		}
		validAre("removed", false, false, false)
		m.leave(t)
	})
}

// TestRemoveAwaitsWorkWithoutALock checks that Remove of a disabled election returns only once the work has stopped, also
// while the member leaves.
func TestRemoveAwaitsWorkWithoutALock(t *testing.T) {
	for name, leaves := range map[string]bool{"the member stays": false, "the member leaves": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.differ, g.stop = disabled, 2*time.Second
				m := g.join("m1", "stable", stable)
				after(time.Minute)
				if leaves {
					m.stop()
				}
				after(g.stop / 2)
				if err := m.manager.Remove(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				if at := workers(g.judge, "a"); len(at) != 0 {
					t.Errorf("removed, but at work: %v", at)
				}
				select {
				case <-m.manager.Settled():
				default:
					t.Error("the removal is over, but not in force")
				}
				m.leave(t)
			})
		})
	}
}

// TestAliveWhileWorkStops checks that a member that leaves is alive until Run has returned, as Alive says.
func TestAliveWhileWorkStops(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.differ, g.stop = disabled, 2*time.Second
		m := g.join("m1", "stable", stable)
		after(time.Minute)
		m.stop()
		if after(g.stop / 2); m.manager.Check(nil) != nil {
			t.Errorf("its work stops: %v", m.manager.Check(nil))
		}
		if m.leave(t); !errors.Is(m.manager.Check(nil), election.ErrStopped) {
			t.Errorf("after Run: %v", m.manager.Check(nil))
		}
	})
}

// TestDisabledWorkHangs checks that work that does not stop within its grace ends the process, as with
// any stop.
func TestDisabledWorkHangs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.differ, g.stop = disabled, 8*time.Second
		m := g.join("m1", "stable", stable)
		after(time.Minute)
		m.leave(t)
		select {
		case err := <-m.aborted:
			if !strings.Contains(err.Error(), "did not stop within its grace (member is leaving)") {
				t.Error(err)
			}
		default:
			t.Error("nobody noticed that the work went on")
		}
	})
}

func TestDisabledRefusals(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m := g.join("m1", "stable", stable)
		for want, spec := range map[string]election.Spec{
			"the same range":   {Disabled: true, Range: true},
			"cannot fail open": {Disabled: true, Outage: machine.Outage{Mode: machine.OutageFailOpen}},
		} {
			spec.Name = "a"
			if _, err := m.manager.Add(spec, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		m.leave(t)
	})
}
