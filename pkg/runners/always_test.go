package runners_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// diary records what the works of all members did, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) count(line string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, l := range d.lines {
		if l == line {
			n++
		}
	}
	return n
}

// stage has members that always run one work, on one store.
type stage struct {
	t     *testing.T
	clock clocktest.Bubble
	realm *memory.Realm
	diary diary
	// deleted: the next term ends because its lock is deleted.
	deleted atomic.Bool
}

func newStage(t *testing.T) *stage {
	c := clocktest.Bubble{}
	return &stage{t: t, clock: c, realm: memory.New(c)}
}

// actor is one member.
type actor struct {
	manager *election.Manager
	status  *election.Status
	stop    context.CancelFunc
	done    chan error
	aborted chan error
}

func (s *stage) enter(name string, work election.AlwaysFunc) *actor {
	half := func() float64 { return 0.5 }
	always := runners.Always("work", work, runners.Supervision{Clock: s.clock, Random: half})
	beside := election.RunnerFunc(func(ctx context.Context, _ election.Term) error { <-ctx.Done(); return nil })
	return s.employ(name, runners.Supervise(
		[]runners.Child{{Name: "work", Runner: always}, {Name: "beside", Runner: beside}}, runners.Supervision{Clock: s.clock, Random: half}))
}

// employ starts a member with a runner.
func (s *stage) employ(name string, runner election.Runner) *actor {
	a := &actor{done: make(chan error, 1), aborted: make(chan error, 8)}
	m, err := election.NewManager(election.Config{
		Group: "edge", Host: name, Member: election.Member{Revision: "r"}, Locks: s.realm.Store(), Clock: s.clock,
		Abort: func(err error) { a.aborted <- err },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	a.manager = m
	a.status, err = m.Add(election.Spec{Name: "e"}, runner)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	go func() { a.done <- m.Run(ctx) }() // joined by the receiver from done
	return a
}

// polite makes work that records what it is told, and takes stopTime to stop.
func (s *stage) polite(name string, stopTime time.Duration) election.AlwaysFunc {
	return func(ctx context.Context, terms *election.Terms) error {
		s.diary.note(name + " runs")
		defer s.diary.note(name + " ends")
		return terms.Each(ctx, func(ctx context.Context, _ election.Term) error {
			s.diary.note(name + " leads")
			<-ctx.Done()
			time.Sleep(stopTime)
			if holder := s.realm.Read("e").Record.Holder; !s.deleted.Swap(false) && !strings.HasPrefix(holder, name+"_") {
				s.t.Errorf("%q holds the lock while %s works", holder, name)
			}
			s.diary.note(name + " stopped")
			return nil
		})
	}
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestAlways checks that the work runs on every member all the time and learns of each term, that the
// lock is released only after the work has stopped for the term, and that the loss of a term does not
// end the work.
func TestAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		m1 := s.enter("m1", s.polite("m1", 3*time.Second))
		after(30 * time.Second)
		m2 := s.enter("m2", s.polite("m2", 3*time.Second))
		after(10 * time.Second)
		if s.diary.count("m1 leads") != 1 || s.diary.count("m2 runs") != 1 || s.diary.count("m2 leads") != 0 {
			t.Errorf("%v", s.diary.lines)
		}
		s.deleted.Store(true)
		s.realm.Delete("e") // m1 loses the term, and takes the lock again
		after(30 * time.Second)
		if s.diary.count("m1 stopped") != 1 || s.diary.count("m1 leads") != 2 || s.diary.count("m1 runs") != 1 {
			t.Errorf("%v", s.diary.lines)
		}
		m1.stop()
		if err := <-m1.done; err != nil {
			t.Error(err)
		}
		after(5 * time.Second)
		want := []string{"m1 stopped", "m2 leads"}
		if got := s.diary.lines; !m2.status.IsLeader() || !slices.Contains(got, "m1 ends") || slices.Index(got, want[1]) < slices.Index(got, want[0]) {
			t.Errorf("%v", got)
		}
		if err := m2.manager.Remove(t.Context(), "e"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if s.diary.count("m2 ends") != 1 {
			t.Errorf("the work of a removed election goes on: %v", s.diary.lines)
		}
		m2.stop()
		<-m2.done
		if len(m1.aborted)+len(m2.aborted) > 0 {
			t.Error("aborted")
		}
	})
}

// TestAlwaysFails checks that work which panics in a term is run again and learns of the same term
// again, that the end of the term does not wait for work that is down, and that work which keeps
// failing costs the member its term.
func TestAlwaysFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		bad := 2
		m1 := s.enter("m1", func(ctx context.Context, terms *election.Terms) error {
			return terms.Each(ctx, func(ctx context.Context, _ election.Term) error {
				s.diary.note("m1 leads")
				if bad > 0 {
					bad--
					panic("oh")
				}
				<-ctx.Done()
				return errors.New("the work ends with its term")
			})
		})
		after(40 * time.Second)
		if s.diary.count("m1 leads") != 3 || m1.status.Cycle() != 1 || !m1.status.IsLeader() {
			t.Errorf("%v, term %d", s.diary.lines, m1.status.Cycle())
		}
		bad = 1000
		s.realm.Delete("e")
		after(3 * time.Minute)
		if m1.status.Cycle() < 3 || s.diary.count("m1 leads") < 10 {
			t.Errorf("term %d, worked %d times", m1.status.Cycle(), s.diary.count("m1 leads"))
		}
		m1.stop()
		<-m1.done
		if len(m1.aborted) > 0 {
			t.Error(<-m1.aborted)
		}
	})
}

// TestAlwaysDoesNotStop checks that the lock is not released while the work does not say that it has
// stopped; the process ends, as with any other runner.
func TestAlwaysDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		stopped := make(chan struct{})
		m1 := s.enter("m1", func(ctx context.Context, terms *election.Terms) (err error) {
			return terms.Each(ctx, func(context.Context, election.Term) error {
				<-stopped
				return nil
			})
		})
		after(30 * time.Second)
		m1.stop()
		after(4 * time.Second)
		if len(m1.aborted) > 0 || s.realm.Read("e").Record.Holder == "" {
			t.Error("too early")
		}
		after(1500 * time.Millisecond)
		if len(m1.aborted) == 0 || s.realm.Read("e").Record.Holder == "" {
			t.Errorf("aborted %d times, held by %q", len(m1.aborted), s.realm.Read("e").Record.Holder)
		}
		close(stopped) // here the process would have ended
		<-m1.done
	})
}

func TestModes(t *testing.T) {
	r := runners.NewRegistry()
	r.Register("leader", func(*yaml.Node, runners.Env) (election.Runner, error) {
		return election.RunnerFunc(func(context.Context, election.Term) error { return nil }), nil
	})
	r.Register("both", func(_ *yaml.Node, env runners.Env) (election.Runner, error) {
		return runners.Always(env.Runner, election.AlwaysFunc(func(context.Context, *election.Terms) error { return nil }), runners.Supervision{}), nil
	})
	for text, want := range map[string]string{
		"name: w\nleader: {}":                      "",
		"name: w\nmode: leader\nleader: {}":        "",
		"name: w\nmode: always\nboth: {}":          "",
		"name: w\nmode: always\nleader: {}":        "2:7: mode: this leader works during terms only (leave mode out; functions that are made for it can always run)",
		"name: w\nboth: {}":                        "1:1: mode: this both always runs (write mode: always)",
		"name: w\nmode: sometimes\nleader: {}":     `2:7: mode: want leader or always, got "sometimes" (the default is leader)`,
		"name: w\nmode: [always]\nleader: {}":      "2:7: mode: want",
		"name: w\nmode: always\nmode: x\nboth: {}": "3:1: mode: is given twice",
	} {
		_, err := r.Decode(node(t, text), runners.Env{})
		var errs strict.Errors
		if want == "" && err == nil {
			continue
		}
		var one *strict.Error
		if err == nil || !strings.Contains(err.Error(), want) || want == "" || !errors.As(err, &errs) && !errors.As(err, &one) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
