package election_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

var forHalfAMinute = memory.Reject(&lock.ThrottledError{RetryAfter: 30 * time.Second})

// TestOneThrottledWrite checks that an answer to one write, which asks the member to wait for a long
// time, delays neither the release of all locks nor the renewals of that write's lock.
func TestOneThrottledWrite(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(20 * time.Second)
		m1.store.On(memory.Put, memory.Named("a", memory.Once(forHalfAMinute)))
		m1.stop()
		after(time.Second)
		g.wantLeader("b", m2, m1, m2)
		g.wantLeader("c", m2, m1, m2)
		after(6 * time.Second) // the member tries its own lock again within two renewal intervals
		g.wantLeader("a", m2, m1, m2)
		g.end(m1, m2)
	})
}

func TestOneThrottledRenewal(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m1.store.On(memory.Put, memory.Named("a", memory.Once(forHalfAMinute)))
		after(60 * time.Second)
		g.wantLeader("a", m1, m1)
		m1.leave(t)
		g.verdict(1)
	})
}

// TestThrottlingStoreIsLeftAlone checks that while a store asks to wait, members try it now and then, and
// no more often, however many elections want to write. Once it answers again, all of them are led.
func TestThrottlingStoreIsLeftAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, many(300)...)
		g.bend = func(_ *election.Config, s *election.Spec) { s.Bootstrap = machine.BootstrapImmediate }
		m1 := g.join("m1", "stable", stable)
		var asked atomic.Int64
		m1.store.On(memory.Put, func(ctx context.Context, c memory.Call, op func() error) error {
			if c.Name[0] != 'e' { // sessions do not count here
				return op()
			}
			asked.Add(1)
			return forHalfAMinute(ctx, c, op)
		})
		after(60 * time.Second)
		if n := asked.Load(); n < 30 || n > 120 {
			t.Errorf("asked %d times in a minute", n)
		}
		m1.store.Heal()
		after(5 * time.Second)
		if n := len(leaders(m1)); n != 300 {
			t.Errorf("%d of 300 elections are led", n)
		}
		g.end(m1)
	})
}

// TestThrottledWatch checks that a watch that is refused once ends no term, however long the refusal asks
// to wait.
func TestThrottledWatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m1.store.On(memory.Watch, memory.Once(memory.Reject(&lock.ThrottledError{RetryAfter: time.Minute})))
		m1.store.CutWatches()
		after(60 * time.Second)
		g.wantLeader("a", m1, m1)
		if n := m1.status["a"].Cycle(); n != 1 {
			t.Errorf("cycle %d", n)
		}
		g.end(m1)
	})
}

// TestSlowLists checks that a member waits for a list that takes longer than a lease.
func TestSlowLists(t *testing.T) {
	for _, d := range []time.Duration{14 * time.Second, 16 * time.Second, 29 * time.Second} {
		t.Run(d.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.bend = func(c *election.Config, _ *election.Spec) {
					c.Locks.(*memory.Store).On(memory.List, memory.Delay(d))
				}
				m1 := g.join("m1", "stable", stable)
				after(2 * time.Minute)
				g.wantLeader("a", m1, m1)
				g.end(m1)
			})
		})
	}
}

// TestWatchWithNothingToShow checks that a member does not restart the watch, and does not log that it is
// silent, while no beat of ours can be stored: the watch then has nothing to show.
func TestWatchWithNothingToShow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		core, logs := observer.New(zap.WarnLevel)
		g.bend = func(c *election.Config, _ *election.Spec) { c.Log = zap.New(core) }
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		g.realm.Delete(slot("m1"))
		g.realm.Delete("a")
		m1.store.On(memory.Put, memory.Reject(fmt.Errorf("%w: the namespace is being deleted", lock.ErrDenied)))
		var lists atomic.Int64
		m1.store.On(memory.List, func(_ context.Context, _ memory.Call, op func() error) error {
			lists.Add(1)
			return op()
		})
		after(5 * time.Minute)
		if n := logs.FilterMessageSnippet("silent").Len(); n != 0 || lists.Load() > 3 {
			t.Errorf("told %d times that the watch is silent, in %d lists", n, lists.Load())
		}
		m1.store.Heal()
		after(90 * time.Second)
		g.wantLeader("a", m1, m1)
		g.end(m1)
	})
}
