package runners_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// hire starts a member that runs the children on the stage's store.
func (s *stage) hire(name string, children ...runners.Child) *actor {
	half := func() float64 { return 0.5 }
	return s.employ(name, runners.Supervise(children, runners.Supervision{Clock: s.clock, Random: half}))
}

// deaf is a child that works for the given time and ignores every stop.
func deaf(name string, works time.Duration) runners.Child {
	return child(name, func(context.Context, election.Term) error {
		time.Sleep(works)
		return nil
	})
}

// TestDeafSiblingEndsTheProcess checks that a function that ignores its stop ends the process, even
// if the failure of another runner, and not the Manager, caused the stop. Until then nobody releases
// the lock or extends the term.
func TestDeafSiblingEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var stop election.Stop
		m1 := s.hire("m1",
			child("told", func(ctx context.Context, term election.Term) error {
				<-ctx.Done()
				stop, _ = election.StopOf(ctx)
				before, _ := term.Deadline()
				time.Sleep(4 * time.Second)
				if after, _ := term.Deadline(); after != before {
					t.Error("a term that was given up was extended")
				}
				return nil
			}),
			deaf("deaf", time.Hour),
			child("bad", func(context.Context, election.Term) error { return errBad }))
		// 15 s until it leads, five attempts within 7.5 s, 5 s of grace.
		after(25 * time.Second)
		if len(m1.aborted) > 0 {
			t.Fatalf("too early: %v", <-m1.aborted)
		}
		if m1.status.IsLeader() {
			t.Error("a term that was given up counts as valid")
		}
		after(5 * time.Second)
		if len(m1.aborted) == 0 {
			t.Fatal("the lock is kept by work that does not stop")
		}
		if err := <-m1.aborted; !strings.Contains(err.Error(), "did not stop within its grace (runner bad failed 5 times") {
			t.Errorf("aborted with %v", err)
		}
		if !strings.HasPrefix(s.realm.Read("e").Record.Holder, "m1_") {
			t.Error("the lock was released while work went on")
		}
		if !strings.Contains(stop.Reason, "bad failed") {
			t.Errorf("the sibling was told %+v", stop)
		}
		m1.stop()
		<-m1.done
	})
}
