package runners_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// TestNoAnswerIsNo checks that a missing answer counts as no, that the function is not asked again
// before it has returned, and that an answer that comes too late does not count.
func TestNoAnswerIsNo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := func(ctx context.Context, _ election.Term) error { <-ctx.Done(); return nil }
		asked := 0
		r := runners.Asked(work, func(context.Context) error {
			if asked++; asked == 2 {
				time.Sleep(18 * time.Second) // it ignores its context
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 32*time.Second)
		defer cancel()
		began := time.Now()
		var said []string
		err := r.(election.Readiness).Readiness(ctx, func(err error) {
			line := time.Since(began).String() + " ready"
			if err != nil {
				line = time.Since(began).String() + " " + err.Error()
			}
			said = append(said, line)
		})
		if err != nil {
			t.Error(err)
		}
		if want := []string{"0s ready", "10s no answer within 5s", "28s ready"}; !slices.Equal(said, want) {
			t.Errorf("it said %q, want %q", said, want)
		}
	})
}

// TestNoAnswerKeepsNobody checks that a function that never answers makes the member unready, and
// delays the return of Run by no more than the grace of a stop.
func TestNoAnswerKeepsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		asked, never := 0, make(chan struct{})
		work := func(ctx context.Context, _ election.Term) error { <-ctx.Done(); return nil }
		m1 := s.hire("m1", runners.Child{Name: "a", Runner: runners.Asked(work, func(context.Context) error {
			if asked++; asked > 1 {
				<-never
			}
			return nil
		})})
		stands := func() bool {
			return !slices.Contains(s.realm.Read("primacy-edge-m1-0").Record.Member.Standing, "e")
		}
		after(4 * time.Second)
		if !stands() {
			t.Error("it said that it is ready, and the session says that it is not")
		}
		after(20 * time.Second)
		if stands() {
			t.Error("it answers no more, and its last answer stands")
		}
		m1.stop()
		after(20 * time.Second)
		select {
		case err := <-m1.done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("Run has not returned")
		}
		close(never) // so that the synctest bubble can end
		synctest.Wait()
	})
}
