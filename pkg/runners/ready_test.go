package runners_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// TestReadyWhenAllAre checks that an election is ready when all those of its runners are that
// implement election.Readiness, and that the member's session says when the election is not ready.
// The reports end with the election.
func TestReadyWhenAllAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var a, b atomic.Bool
		ready := func(is *atomic.Bool) runners.ReadyFunc {
			return func(context.Context) error {
				if !is.Load() {
					return errors.New("no data yet")
				}
				return nil
			}
		}
		work := func(ctx context.Context, _ election.Term) error { <-ctx.Done(); return nil }
		m1 := s.hire("m1", child("plain", work),
			runners.Child{Name: "a", Runner: runners.Asked(work, ready(&a))},
			runners.Child{Name: "b", Runner: runners.Asked(work, ready(&b))})
		stands := func(want bool) {
			t.Helper()
			after(10 * time.Second)
			if got := !slices.Contains(s.realm.Read("primacy-edge-m1-0").Record.Member.Standing, "e"); got != want {
				t.Errorf("the session says that the member stands: %v, want %v", got, want)
			}
		}
		stands(false)
		a.Store(true)
		stands(false)
		b.Store(true)
		stands(true)
		a.Store(false)
		stands(false)
		if !m1.status.IsLeader() {
			t.Error("a member that is not ready was kept from a free lock, or lost its term")
		}
		m1.stop()
		if err := <-m1.done; err != nil {
			t.Error(err)
		}
	})
}

// TestReadinessOfOthers checks that a ReadyFunc that panics counts as a no, and that an election is
// not asked if none of its runners implements election.Readiness.
func TestReadinessOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := func(ctx context.Context, _ election.Term) error { <-ctx.Done(); return nil }
		if _, tells := runners.Supervise([]runners.Child{child("plain", work)}, runners.Supervision{}).(election.Readiness); tells {
			t.Error("it would say that it is not ready before it says anything")
		}
		r := runners.Supervise([]runners.Child{{Name: "bad", Runner: runners.Asked(work, func(context.Context) error { panic("ouch") })}}, runners.Supervision{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute-time.Second)
		defer cancel()
		var said []string
		if err := r.(election.Readiness).Readiness(ctx, func(err error) { said = append(said, err.Error()) }); err != nil {
			t.Error(err)
		}
		if len(said) != 12 || !strings.Contains(said[0], "runner bad: it panicked: ouch") {
			t.Errorf("it said %q", said)
		}
	})
}
