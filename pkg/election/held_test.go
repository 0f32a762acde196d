package election_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// heldUp is a log that holds the host up for a given time at certain entries.
func heldUp(d time.Duration, at func(zapcore.Entry) bool) *zap.Logger {
	return heldUpBy(func() { time.Sleep(d) }, at)
}

// heldUpBy is a log that holds the host up at certain entries, until hold returns.
func heldUpBy(hold func(), at func(zapcore.Entry) bool) *zap.Logger {
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), nowhere{}, zap.InfoLevel)
	return zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		if at(e) {
			hold()
		}
		return nil
	}))
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Sync() error                 { return nil }

// TestMigrationStartsNothingTooLate checks rule dead-by-the-deadline: a host that was held up learns that
// it took the new lock only after the validity of the old one has ended, so no work begins.
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
				c.Locks.(*memory.Store).On(memory.Put, memory.Named("a", func(_ context.Context, c memory.Call, op func() error) error {
					switch {
					case c.Record.Holder == "":
						return op()
					case !allowed.Load():
						return fmt.Errorf("%w: not yet", lock.ErrDenied)
					}
					time.Sleep(time.Second) // by then the host is held up
					return op()
				}))
			}
			m1 := g.join("m1", "stable", stable)
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

// byName is a store that a member watches by name.
type byName struct{ *memory.Store }

func (s byName) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	return s.Watch(ctx, lock.Only(names, deliver))
}

// TestListByNameOfOthersOnly checks that a list that was requested before an election was added says
// nothing of its lock: the lock does not count as absent, nor the store as restored (rule
// newer-by-version).
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
			m1.prefs.values <- canary // holds the host up while the list of x arrives
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

// heldClock is a clock that holds the host up whenever it reads the time, which it does before and after
// everything it does. Guards, runners, requests and watches go on.
type heldClock struct {
	clocktest.Bubble
	driver atomic.Uintptr
	hold   atomic.Pointer[func() holdUp]
}

// holdUp is how long the host stands still. If stale, the clock then reads as before the pause.
type holdUp struct {
	d     time.Duration
	stale bool
}

func newHeldClock(c clocktest.Bubble) *heldClock { return &heldClock{Bubble: c} }

// drive makes the calling goroutine the one that is held up.
func (c *heldClock) drive() { c.driver.Store(goroutine()) }

// on lets f decide, at each reading of the clock, how long to hold the host up; nil for never.
func (c *heldClock) on(f func() holdUp) {
	if f == nil {
		c.hold.Store(nil)
		return
	}
	c.hold.Store(&f)
}

// once holds the host up at the next reading of the clock by a function whose name contains the given
// text; by any function if the text is empty.
func (c *heldClock) once(within string, h holdUp) {
	var done atomic.Bool
	c.on(func() holdUp {
		if done.Load() || !inside(within) {
			return holdUp{}
		}
		done.Store(true)
		return h
	})
}

func (c *heldClock) Now() record.Instant {
	f := c.hold.Load()
	if f == nil || goroutine() != c.driver.Load() {
		return c.Bubble.Now()
	}
	before := c.Bubble.Now()
	h := (*f)()
	if h.d <= 0 || underLock() {
		return before
	}
	time.Sleep(h.d)
	if h.stale {
		return before
	}
	return c.Bubble.Now()
}

// underLock says whether the caller reads the clock inside the lock of a work, a reach, a status or the manager: a goroutine
// that waits for a mutex keeps virtual time from passing.
func underLock() bool {
	return inside("(*work)") || inside("(*reach)") || inside("(*Status)") || inside("(*entrant)") || inside("election.begin")
}

// inside says whether a function whose name contains the text reads the clock.
func inside(name string) bool {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

// goroutine is the function that the calling goroutine began with. A member has one host, so this
// distinguishes the host's goroutine from all others, and costs much less than goroutine numbers.
func goroutine() uintptr {
	var pcs [128]uintptr
	n := runtime.Callers(1, pcs[:])
	if n == len(pcs) {
		panic("the stack is deeper than that")
	}
	return runtime.FuncForPC(pcs[n-2]).Entry() // the outermost one is the runtime's
}

// TestAHeldUpHostLeavesWorkItsGrace holds the host up, for longer than a stopGrace, after it has decided to stop work. It
// checks that the work has its whole stopGrace from when it is told to stop, within its term, and that the process goes
// on.
func TestAHeldUpHostLeavesWorkItsGrace(t *testing.T) {
	grace := profile("default").StopGrace
	for name, c := range map[string]struct {
		disabled bool
		heldAt   string
	}{
		"an election":                     {false, "leaving"},
		"a disabled one":                  {true, "draining"},
		"an election, at the second line": {false, "draining"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t)
				var hold atomic.Bool
				g.bend = func(cfg *election.Config, _ *election.Spec) {
					cfg.Log = heldUp(grace+100*time.Millisecond, func(e zapcore.Entry) bool { return hold.Load() && e.Message == c.heldAt })
					cfg.Abort = func(err error) { t.Errorf("the process ends: %v", err) }
				}
				m1 := g.join("m1", "stable", stable)
				stopped := 0
				run := func(ctx context.Context, term election.Term) error {
					<-ctx.Done()
					stop, _ := election.StopOf(ctx)
					deadline, _ := term.Deadline()
					if left := stop.By.Sub(g.clock.Now()); left != grace || term.Fenced() && stop.By > deadline {
						t.Errorf("%s: told to be dead in %v, %v before the end of the term", stop.Reason, left, deadline.Sub(stop.By))
					}
					time.Sleep(grace * 9 / 10)
					stopped++
					return nil
				}
				if _, err := m1.manager.Add(election.Spec{Name: "a", Disabled: c.disabled, Bootstrap: election.BootstrapImmediate}, election.RunnerFunc(run)); err != nil {
					t.Fatal(err)
				}
				after(time.Minute)
				hold.Store(true)
				m1.leave(t)
				if stopped != 1 {
					t.Errorf("%d works stopped", stopped)
				}
			})
		})
	}
}
