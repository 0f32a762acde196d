package election_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/follow"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// heldUp is a log that holds the driver up for as long as d says at certain entries.
func heldUp(d time.Duration, at func(zapcore.Entry) bool) *zap.Logger {
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), nowhere{}, zap.InfoLevel)
	return zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		if at(e) {
			time.Sleep(d)
		}
		return nil
	}))
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Sync() error                 { return nil }

// A driver that was held up learns that it took the lock that it moves to after the
// validity of the one that it moves from has ended: no work begins (rule 4).
func TestMigrationStartsNothingTooLate(t *testing.T) {
	for round := range 10 {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(t, "a")
			old := memory.New(g.clock)
			oldStore := old.Store()
			var hold, allowed atomic.Bool
			g.bend = func(c *election.Config, s *election.Spec) {
				c.Log = heldUp(9200*time.Millisecond, func(e zapcore.Entry) bool { return hold.Load() && e.Level == zap.WarnLevel })
				c.Abort = func(err error) { t.Errorf("round %d: %v", round, err) }
				s.MigrateFrom = &election.LockRef{Lock: "a", Locks: oldStore}
			}
			m1 := g.join("m1", "stable", stable)
			m1.store.On(memory.Put, memory.Named("a", func(_ context.Context, c memory.Call, op func() error) error {
				switch {
				case c.Record.Holder == "":
					return op()
				case !allowed.Load():
					return fmt.Errorf("%w: not yet", lock.ErrDenied)
				}
				time.Sleep(time.Second) // by then the driver is held up
				return op()
			}))
			after(60 * time.Second)
			oldStore.On(memory.Put, func(context.Context, memory.Call, func() error) error {
				time.Sleep(2300 * time.Millisecond)
				allowed.Store(true)
				time.Sleep(600 * time.Millisecond)
				hold.Store(true)
				m1.store.CutWatches()
				time.Sleep(20 * time.Second)
				return fmt.Errorf("%w: no answer", lock.ErrUnknown)
			})
			after(17 * time.Second)
			if n := g.judge.terms(); n != 0 {
				t.Errorf("round %d: %d terms began", round, n)
			}
			hold.Store(false)
			m1.leave(t)
		})
	}
}

// byName is a store that is watched by name.
type byName struct{ *memory.Store }

func (s byName) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	return s.Watch(ctx, follow.Only(names, deliver))
}

// A list that was asked for before an election was added says nothing of its lock: it
// is not taken for absent, and the store not for restored (rule 14).
func TestListByNameOfOthersOnly(t *testing.T) {
	for round := range 10 {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(t, "a")
			g.bend = func(c *election.Config, _ *election.Spec) {
				c.Log = heldUp(3*time.Second, func(e zapcore.Entry) bool { return e.Message == "preferred revision" })
			}
			m1 := g.join("m1", "stable", stable)
			named := byName{g.realm.Store()}
			add := func(name string) {
				t.Helper()
				if _, err := m1.manager.Add(election.Spec{Name: name, Locks: named}, nil); err != nil {
					t.Fatal(err)
				}
			}
			after(20 * time.Second)
			add("y")
			after(20 * time.Second)
			if err := m1.manager.Remove(t.Context(), "y"); err != nil {
				t.Fatal(err)
			}
			after(20 * time.Second)
			named.On(memory.List, memory.Once(memory.Delay(time.Second)))
			add("x")
			after(500 * time.Millisecond)
			m1.prefs.values <- canary // the driver is held up while the list of x comes in
			after(time.Second)
			add("y")
			after(20 * time.Second)
			if got := m1.status["a"].Cycle(); got != 1 {
				t.Errorf("round %d: cycle %d of an election that nothing happened to", round, got)
			}
			m1.leave(t)
		})
	}
}
