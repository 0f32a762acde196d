package runners_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// ends is a child that ends after a while, with err.
func ends(name string, after time.Duration, err error, onExit runners.OnExit) runners.Child {
	c := child(name, func(ctx context.Context, _ election.Term) error {
		select {
		case <-ctx.Done():
			return nil
		case <-clock.NewTimer(after).C:
			return err
		}
	})
	c.OnExit = onExit
	return c
}

// TestExitRelease checks that a runner with onExit: release costs the term at its first end, with or
// without an error.
func TestExitRelease(t *testing.T) {
	for _, bad := range []error{nil, errBad} {
		synctest.Test(t, func(t *testing.T) {
			var a []string
			s := open(t, good("a", &a), ends("b", time.Minute, bad, runners.ExitRelease))
			time.Sleep(time.Minute - time.Second)
			s.mustRun()
			time.Sleep(2 * time.Second)
			err, _ := s.returned()
			var gaveUp *runners.GaveUpError
			if !errors.As(err, &gaveUp) || gaveUp.Runner != "b" || gaveUp.Failures != 1 || bad != nil && !errors.Is(err, bad) {
				t.Errorf("Run returned %v", err)
			}
			if len(a) != 1 {
				t.Errorf("a ended %d times, want once", len(a))
			}
		})
	}
}

// TestExitStop checks that a runner with onExit: stop leaves the term to the other runners when it
// ends, with or without an error, and is not run again. When the last runner ends, the term ends.
func TestExitStop(t *testing.T) {
	for _, bad := range []error{nil, errBad} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, ends("a", time.Minute, bad, runners.ExitStop), ends("b", time.Hour/2, bad, runners.ExitStop))
			time.Sleep(time.Hour/2 - time.Second)
			s.mustRun()
			if n := s.logs.FilterMessage("runner has ended for this term").Len(); n != 1 {
				t.Errorf("logged: %v", s.logs.All())
			}
			time.Sleep(2 * time.Second)
			s.mustReturn(runners.ErrAllEnded)
		})
	}
}

// TestExitAtTheDeadlineIsNone checks that onExit does not apply to a runner that ends because of the
// term's deadline.
func TestExitAtTheDeadlineIsNone(t *testing.T) {
	for _, onExit := range []runners.OnExit{runners.ExitRelease, runners.ExitStop} {
		synctest.Test(t, func(t *testing.T) {
			runs := 0
			c := child("a", func(ctx context.Context, _ election.Term) error {
				if runs++; runs == 1 {
					return fmt.Errorf("killed: %w", runners.ErrDeadline)
				}
				<-ctx.Done()
				return nil
			})
			c.OnExit = onExit
			s := open(t, c)
			time.Sleep(time.Minute)
			s.mustRun()
			if runs != 2 {
				t.Errorf("%s: it ran %d times, want 2", onExit, runs)
			}
			s.stop()
			s.mustReturn(nil)
		})
	}
}

// TestExitsMoveLeadership runs members with a Manager: another member takes over from the one whose
// runner ended, and no member holds a lock without work.
func TestExitsMoveLeadership(t *testing.T) {
	for name, hired := range map[string][]runners.Child{
		"release":    {ends("a", time.Hour, nil, ""), ends("b", 10*time.Second, nil, runners.ExitRelease)},
		"last stops": {ends("a", 5*time.Second, nil, runners.ExitStop), ends("b", 10*time.Second, errBad, runners.ExitStop)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				m1 := s.hire("m1", hired...)
				after(20 * time.Second) // m1 takes the lock after 15 s
				m2 := s.hire("m2", ends("a", time.Hour, nil, ""))
				after(4 * time.Second)
				if !m1.status.IsLeader() {
					t.Fatal("m1 does not lead")
				}
				after(2 * time.Second)
				if !m2.status.IsLeader() || m1.status.IsLeader() {
					t.Errorf("m1 leads %v, m2 leads %v", m1.status.IsLeader(), m2.status.IsLeader())
				}
				after(5 * time.Minute) // equal rank, so leadership does not move back
				if m1.status.Cycle() != 1 {
					t.Errorf("m1 led %d times", m1.status.Cycle())
				}
				m1.stop()
				m2.stop()
				<-m1.done
				<-m2.done
			})
		})
	}
}

func TestExitWords(t *testing.T) {
	for text, want := range map[string]runners.OnExit{
		"name: w\na: {say: x}":                      runners.ExitRestart,
		"name: w\nonExit: restart\na: {say: x}":     runners.ExitRestart,
		"name: w\na: {say: x}\nonExit: release":     runners.ExitRelease,
		"name: w\nonExit: stop\na: {say: x}":        runners.ExitStop,
		"name: w\nonExit: Stop\na: {say: x}":        `2:9: onExit: want restart or release or stop, got "Stop" (did you mean stop?)`,
		"name: w\nonExit: no\na: {say: x}":          "2:9: onExit: no is a boolean, want text",
		"name: w\nonExit: stop\nonExit: stop\na: 3": "3:1: onExit: is given twice",
	} {
		c, err := registry().Decode(node(t, text), runners.Env{})
		var one *strict.Error
		switch {
		case err == nil && c.OnExit == want && c.Kind == "a":
		case err != nil && strings.Contains(err.Error(), string(want)) && (errors.As(err, &one) || errors.As(err, new(strict.Errors))):
		default:
			t.Errorf("%q: got %q of kind %s, %v, want %q", text, c.OnExit, c.Kind, err, want)
		}
	}
}

// order records what happened to children that report when they begin, end and are up.
type order struct{ diary }

// tells is a child that is up after upAfter and takes stopTime to stop.
func (o *order) tells(name string, upAfter, stopTime time.Duration) runners.Child {
	run := func(ctx context.Context, _ election.Term, up func()) error {
		o.note(name + " begins")
		select {
		case <-ctx.Done():
		case <-clock.NewTimer(upAfter).C:
			up()
			up() // once is enough
			<-ctx.Done()
		}
		o.note(name + " told")
		up() // too late to mean anything
		time.Sleep(stopTime)
		o.note(name + " ends")
		return nil
	}
	return runners.Child{Name: name, Runner: runners.AnnouncedFunc(run)}
}

// cannotTell is a child that takes stopTime to stop.
func (o *order) cannotTell(name string, stopTime time.Duration) runners.Child {
	c := o.tells(name, time.Hour, stopTime)
	return child(name, c.Runner.Run)
}

// begun checks which children have begun since the last call. Children that are no Announcers begin
// at once, so in any order.
func (o *order) begun(t *testing.T, names ...string) {
	t.Helper()
	synctest.Wait()
	o.mu.Lock()
	slices.Sort(o.lines)
	o.mu.Unlock()
	var want []string
	for _, n := range names {
		want = append(want, n+" begins")
	}
	o.want(t, want...)
}

func (o *order) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.lines, want) {
		t.Errorf("happened:\n%q\nwant:\n%q", o.lines, want)
	}
	o.lines = nil
}

// TestStartAndStopInOrder checks that a runner starts once the one before it is up (or has started,
// if it is no Announcer), and that runners stop in reverse order, each after the one that follows it
// has returned.
func TestStartAndStopInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o order
		s := open(t, o.cannotTell("a", 0), o.tells("b", 10*time.Second, 100*time.Millisecond), o.tells("c", time.Second, 200*time.Millisecond), o.cannotTell("d", 0))
		synctest.Wait()
		o.begun(t, "a", "b")
		time.Sleep(9 * time.Second)
		o.want(t)
		time.Sleep(1500 * time.Millisecond)
		o.want(t, "c begins")
		time.Sleep(time.Minute)
		o.want(t, "d begins")
		s.stop()
		o.want(t, "d told", "d ends", "c told")
		time.Sleep(200 * time.Millisecond)
		o.want(t, "c ends", "b told")
		time.Sleep(100 * time.Millisecond)
		o.want(t, "b ends", "a told", "a ends")
		s.mustReturn(nil)
	})
}

// TestStopDuringTheStart checks that a runner never starts if the stop comes while it waits for
// another runner to be up.
func TestStopDuringTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o order
		s := open(t, o.cannotTell("a", 0), o.tells("b", time.Hour, 100*time.Millisecond), o.cannotTell("c", 0))
		time.Sleep(time.Minute / 2)
		o.begun(t, "a", "b")
		s.stop()
		time.Sleep(time.Second)
		o.want(t, "b told", "b ends", "a told", "a ends")
		s.mustReturn(nil)
	})
}

// TestSlowStopLeavesTimeToOthers checks that a runner that does not stop holds up the runners before
// it for its share of the grace only, so that they have time to stop.
func TestSlowStopLeavesTimeToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o order
		s := open(t, o.cannotTell("a", 0), o.cannotTell("b", 0), o.cannotTell("c", time.Minute), o.cannotTell("d", 200*time.Millisecond))
		synctest.Wait()
		o.begun(t, "a", "b", "c", "d")
		s.stop() // all must stop within one second
		time.Sleep(200 * time.Millisecond)
		o.want(t, "d told", "d ends", "c told")
		time.Sleep(266 * time.Millisecond)
		o.want(t)
		time.Sleep(time.Millisecond) // a third of what was left
		o.want(t, "b told", "b ends")
		time.Sleep(266 * time.Millisecond) // half of what was left then
		o.want(t)
		time.Sleep(time.Millisecond)
		o.want(t, "a told", "a ends")
		time.Sleep(time.Minute)
		o.want(t, "c ends")
		s.mustReturn(nil)
	})
}

// TestFailedStartStopsAll checks that a runner that cannot start stops all others, and that the
// runners after it never start. A runner with onExit: stop that ends before it was up counts as one
// that cannot start.
func TestFailedStartStopsAll(t *testing.T) {
	for onExit, failures := range map[runners.OnExit]int{"": 5, runners.ExitRelease: 1, runners.ExitStop: 1} {
		synctest.Test(t, func(t *testing.T) {
			var o order
			bad := runners.Child{Name: "b", OnExit: onExit, Runner: runners.AnnouncedFunc(func(context.Context, election.Term, func()) error {
				time.Sleep(time.Second)
				return errBad
			})}
			s := open(t, o.cannotTell("a", 0), bad, o.cannotTell("c", 0))
			time.Sleep(time.Minute)
			o.want(t, "a begins", "a told", "a ends")
			err, _ := s.returned()
			var gaveUp *runners.GaveUpError
			if !errors.As(err, &gaveUp) || gaveUp.Runner != "b" || gaveUp.Failures != failures || !errors.Is(err, errBad) {
				t.Errorf("onExit %q: Run returned %v", onExit, err)
			}
		})
	}
}
