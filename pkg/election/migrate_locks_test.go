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

// TestTheOldLockIsHeldUnderWork has a member that holds both locks leave while its work is slow to stop.
// It checks that a member that knows only the old lock does not get it before the work has stopped.
func TestTheOldLockIsHeldUnderWork(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g, m1, old := holdingBoth(t, 3*time.Second)
		m2, _ := g.joinMoving("m2", "stable", oldOnly, old)
		after(20 * time.Second)
		m1.leave(t)
		after(20 * time.Second)
		g.wantLeader("a", m2, m2)
		m2.leave(t)
		g.verdict(2)
	})
}

// TestATermBeginsWithTheEarlierDeadline takes the new lock long after the old one, whose renewals fail.
// It checks that the term, from its beginning, is valid only as long as both locks are.
func TestATermBeginsWithTheEarlierDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		old := g.realm.Beside()
		m1 := g.join("m1", "stable", stable)
		after(5 * time.Second)
		oldStore := old.Store()
		var terms atomic.Int32 // once a term began all writes succeed
		var asked atomic.Int64 // when the old lock was last written to
		var tried atomic.Bool  // the member tried to take the new lock
		oldStore.On(memory.Put, memory.Named("a", func(_ context.Context, _ memory.Call, op func() error) error {
			if tried.Load() && terms.Load() == 0 {
				return fmt.Errorf("%w: not renewed", lock.ErrDenied)
			}
			asked.Store(int64(g.clock.Now()))
			return op()
		}))
		m1.store.On(memory.Put, memory.Named("a", func(_ context.Context, c memory.Call, op func() error) error {
			if c.Record.Holder != "" {
				tried.Store(true)
			}
			if tried.Load() && terms.Load() == 0 && g.clock.Now() < record.Instant(asked.Load()).Add(2*time.Second) {
				return fmt.Errorf("%w: not yet", lock.ErrDenied)
			}
			return op()
		}))
		timing, err := record.Profile(record.DefaultProfile)
		if err != nil {
			t.Fatal(err)
		}
		spec := election.Spec{Name: "a", MigrateFrom: &election.LockRef{Lock: "a", Locks: oldStore}}
		_, err = m1.manager.Add(spec, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			deadline, _ := term.Deadline()
			terms.Add(1)
			if latest := record.Instant(asked.Load()).Add(timing.Validity()); deadline > latest {
				t.Errorf("the term is valid until %d, the old lock until %d", deadline, latest)
			}
			if v := term.Valid(); v == nil || v.Deadline != deadline {
				t.Errorf("the work has until %d, the status says %+v", deadline, v)
			}
			<-ctx.Done()
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		after(60 * time.Second)
		if got := terms.Load(); got != 1 {
			t.Errorf("%d terms, want 1", got)
		}
		m1.leave(t)
	})
}

// TestEachTermOfAMigrationHasAGrace checks that work that is told to stop while both locks are held has a grace, also when
// the token of its term is that of the old lock, and that the grace is over once another holds the new lock.
func TestEachTermOfAMigrationHasAGrace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		other := g.realm.Beside()
		terms, differ := 0, 0
		for terms < 3 {
			m1 := g.join("m1", "stable", stable)
			var status *election.Status
			status, err := m1.manager.Add(election.Spec{
				Name: "a", Bootstrap: election.BootstrapImmediate, MigrateFrom: &election.LockRef{Lock: "a", Locks: byName{other.Store()}},
			}, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
				<-ctx.Done()
				terms++
				if status.Leader().Token != term.Token {
					differ++
				}
				grace := term.Grace(ctx)
				if grace == nil || grace.Token != term.Token {
					t.Errorf("term %d of a lock with token %d: the grace is %+v", term.Token, status.Leader().Token, grace)
					return nil
				}
				if terms < 3 {
					return nil
				}
				e := g.realm.Read("a")
				stolen := *e.Record
				stolen.Holder = "stranger"
				if _, err := g.realm.Write("a", stolen, e.Version); err != nil {
					t.Error(err)
				}
				if after(time.Millisecond); grace.Valid() {
					t.Errorf("term %d: the grace goes on though a stranger holds the lock", term.Token)
				}
				return nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			after(5 * time.Minute)
			if !status.IsLeader() {
				t.Fatal("nobody leads")
			}
			m1.leave(t)
		}
		if differ == 0 {
			t.Error("this shows nothing: each term has the token of its lock")
		}
	})
}
