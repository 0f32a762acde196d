package election_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestTermCountsFromTheSending checks that a term that its record renews counts from when the renewal was
// sent, however slow the answer is.
func TestTermCountsFromTheSending(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		validity := profile("default").Validity()
		var sent atomic.Int64
		m1.store.On(memory.Put, memory.Named("a", func(ctx context.Context, c memory.Call, op func() error) error {
			sent.Store(int64(g.clock.Now()))
			return memory.DelayReply(900*time.Millisecond)(ctx, c, op)
		}))
		after(5 * time.Second)
		was, extended := m1.status["a"].ValidTerm(), 0
		for range 200 {
			after(100 * time.Millisecond)
			v := m1.status["a"].ValidTerm()
			if v == nil {
				t.Fatal("no term")
			}
			if limit := record.Instant(sent.Load()).Add(validity); v.Deadline > limit {
				t.Fatalf("the deadline is %v later than what the last renewal sent is worth", v.Deadline.Sub(limit))
			}
			if v.Deadline != was.Deadline {
				was, extended = v, extended+1
			}
		}
		if extended < 5 {
			t.Errorf("extended %d times", extended)
		}
		m1.store.Heal()
		g.end(m1)
	})
}

// TestAnswerOvertakesAList checks that a list that was requested before an answer came does not
// contradict that answer: however late the list comes, the store does not look restored.
func TestAnswerOvertakesAList(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		m1 := g.join("m1", "stable", stable)
		after(60 * time.Second)
		m1.store.On(memory.List, memory.DelayReply(5*time.Second))
		was := m1.status["a"].Leader().Identity
		if _, err := g.realm.Write("other", record.Record{Group: "edge"}, record.Version{}); err != nil {
			t.Fatal(err)
		}
		g.realm.Compact()
		m1.store.CutWatches() // it cannot go on where it was, so it lists
		after(30 * time.Second)
		m1.store.Heal()
		after(30 * time.Second)
		if now := m1.status["a"].Leader().Identity; now != was || m1.status["a"].Cycle() != 1 {
			t.Errorf("led by %s in cycle %d, which was %s", now, m1.status["a"].Cycle(), was)
		}
		g.end(m1)
	})
}

// TestAnswersForAnElectionThatWasGivenUp delays the answer to a request until its election was given up
// and the election added in its place leads under the same lock. It checks that the old election writes
// nothing there any more.
func TestAnswersForAnElectionThatWasGivenUp(t *testing.T) {
	for name, late := range map[string]struct {
		op memory.Op
		// before is the outcome of the writes that came first.
		before error
		answer func(do func() error) error
	}{
		"a release is refused":  {op: memory.Put, answer: func(func() error) error { return lock.ErrDenied }},
		"a read shows the past": {op: memory.Get, before: lock.ErrUnknown, answer: func(do func() error) error { return do() }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a").byRecord()
				logs := logged(g)
				m1 := g.join("m1", "stable", stable)
				after(20 * time.Second)
				asked, tell := make(chan struct{}), make(chan struct{})
				if late.before != nil {
					m1.store.On(memory.Put, memory.Named("a", memory.Reject(late.before)))
				}
				m1.store.On(late.op, memory.Named("a", memory.Once(func(_ context.Context, _ memory.Call, do func() error) error {
					close(asked)
					answer := late.answer(do)
					<-tell
					return answer
				})))
				if err := m1.manager.Remove(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				select {
				case <-asked:
				default:
					t.Fatal("nothing was asked")
				}
				m1.store.Heal()
				status, err := m1.manager.Add(election.Spec{Name: "a", Renewal: record.RenewalRecord}, g.judge.runner("m1", 0))
				if err != nil {
					t.Fatal(err)
				}
				for range 500 { // the answer comes before the first renewal
					if after(10 * time.Millisecond); status.ValidTerm() != nil {
						break
					}
				}
				logs.TakeAll()
				close(tell)
				after(60 * time.Second)
				if lines := logs.TakeAll(); len(lines) != 0 {
					t.Errorf("it says %q of what nobody waits for", lines[0].Message)
				}
				if status.Cycle() != 1 {
					t.Errorf("%d terms", status.Cycle())
				}
				g.end(m1)
			})
		})
	}
}

// TestOuterDeadlineBinds checks that while a member holds both locks, the deadline is no later than the
// old lock's last renewal allows.
func TestOuterDeadlineBinds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1, old := g.joinMoving("m1", "stable", both, memory.New(g.clock))
		after(60 * time.Second)
		asked := g.clock.Now()
		old.On(memory.Put, memory.Hang())
		for range 60 {
			after(100 * time.Millisecond)
			v := m1.status["a"].ValidTerm()
			if v == nil {
				t.Fatal("no term")
			}
			if limit := asked.Add(profile("default").Validity()); v.Deadline > limit {
				t.Fatalf("the deadline is %v later than what the old lock's last renewal is worth", v.Deadline.Sub(limit))
			}
		}
		old.Heal()
		g.end(m1)
	})
}

// TestTokenIsAboveTheOldLocks checks that a member of both locks begins its terms above the tokens of the
// old lock.
func TestTokenIsAboveTheOldLocks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		old := memory.New(g.clock)
		for i := range 600 { // the revisions of the old lock's store are far ahead
			if _, err := old.Write(fmt.Sprintf("other-%d", i), record.Record{Group: "edge"}, record.Version{}); err != nil {
				t.Fatal(err)
			}
		}
		first, _ := g.joinMoving("m1", "stable", oldOnly, old)
		after(60 * time.Second)
		second, _ := g.joinMoving("m2", "stable", both, old)
		after(30 * time.Second)
		first.leave(t)
		after(60 * time.Second)
		second.leave(t)
		g.verdict(2)
	})
}
