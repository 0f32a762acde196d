package fence_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// draining runs a test in virtual time with a member whose runner ends its terms with Drain.
func draining(t *testing.T, last func(ctx context.Context, g *fence.Gate) error, test func(t *testing.T, m1 *member, g *fence.Gate, realm *memory.Realm, drained <-chan error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := clocktest.Bubble{}
		realm := memory.New(clock)
		m1 := &member{clock: clock, store: realm.Store(), done: make(chan error, 1)}
		var err error
		m1.Manager, err = election.NewManager(election.Config{
			Group: "edge", Host: "m1", Member: election.Member{Revision: "stable"}, Locks: m1.store, Clock: clock, Abort: func(err error) { t.Error(err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		drained := make(chan error, 1)
		var g *fence.Gate
		status, err := m1.Add(election.Spec{Name: "a", Bootstrap: machine.BootstrapImmediate}, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			var writeLast func(context.Context) error
			if last != nil {
				writeLast = func(ctx context.Context) error { return last(ctx, g) }
			}
			err := g.Drain(ctx, term, writeLast)
			drained <- err
			return err
		}))
		if err != nil {
			t.Fatal(err)
		}
		m1.status = []*election.Status{status}
		g = gateOf(t, status)
		ctx, cancel := context.WithCancel(context.Background())
		m1.stop = cancel
		go func() { m1.done <- m1.Run(ctx) }()
		after(10 * time.Second)
		if !status.IsLeader() {
			t.Fatal("not led")
		}
		test(t, m1, g, realm, drained)
		m1.leave(t)
	})
}

// TestDrainJoinsDo checks that a term's lock is not released, and Run does not return, while a function that Do called
// still runs.
func TestDrainJoinsDo(t *testing.T) {
	draining(t, nil, func(t *testing.T, m1 *member, g *fence.Gate, _ *memory.Realm, _ <-chan error) {
		returned := make(chan time.Time, 1)
		go func() {
			_ = g.Do(context.Background(), func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(2 * time.Second) // it has something to finish
				returned <- time.Now()
				return nil
			})
		}()
		synctest.Wait()
		m1.stop()
		after(time.Second)
		if e, err := m1.store.Get(t.Context(), "a"); err != nil || e.Record.Holder == "" {
			t.Errorf("released during Do: %+v, %v", e.Record, err)
		}
		err := <-m1.done
		select {
		case at := <-returned:
			if err != nil || time.Since(at) > time.Second {
				t.Errorf("Run returned %v after Do: %v", time.Since(at), err)
			}
		default:
			t.Error("Run returned before Do")
		}
		m1.done <- nil
	})
}

// TestDrainWrites checks what passes the gate in the grace: only what the last function sends, until the grace is over.
func TestDrainWrites(t *testing.T) {
	w := &wire{}
	var inside, outside, nested error
	last := func(ctx context.Context, g *fence.Gate) error {
		outside = write(context.Background(), g, w)
		inside = write(ctx, g, w)
		nested = g.Do(ctx, func(ctx context.Context) error {
			if token, ok := fence.TokenOf(ctx, "a"); !ok || token == 0 {
				t.Errorf("token %d, %v", token, ok)
			}
			return write(ctx, g, w)
		})
		return write(ctx, g, &wire{answer: func(req *http.Request) (*http.Response, error) {
			time.Sleep(4400 * time.Millisecond)
			if req.Context().Err() != nil {
				t.Error("cut before the end of the grace")
			}
			return hang(req)
		}})
	}
	draining(t, last, func(t *testing.T, m1 *member, _ *fence.Gate, _ *memory.Realm, drained <-chan error) {
		began := time.Now()
		m1.stop()
		var cut *fence.NotLeadingError
		if err := <-drained; !errors.As(err, &cut) || cut.Progress != fence.Cut {
			t.Errorf("at the end of the grace: %v", err)
		}
		if took := time.Since(began); took != 4500*time.Millisecond {
			t.Errorf("cut after %v, and nine tenths of stopGrace are 4.5 s", took)
		}
		if inside != nil || nested != nil || !errors.Is(outside, fence.ErrNotLeading) || len(w.seen()) != 2 {
			t.Errorf("within: %v, %v; beside: %v; sent %v", inside, nested, outside, w.seen())
		}
	})
}

// TestNoGraceAfterLoss checks that nothing is written last once the lock was lost, before Drain or during it.
func TestNoGraceAfterLoss(t *testing.T) {
	steal := func(t *testing.T, store lock.Store) {
		e, err := store.Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		r := *e.Record
		r.Holder, r.Transitions = "stranger", r.Transitions+1
		if _, err := store.Put(t.Context(), "a", r, e.Version); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("before", func(t *testing.T) {
		called := false
		draining(t, func(context.Context, *fence.Gate) error { called = true; return nil }, func(t *testing.T, m1 *member, _ *fence.Gate, _ *memory.Realm, drained <-chan error) {
			steal(t, m1.store)
			var why *election.Stop
			if err := <-drained; !errors.Is(err, fence.ErrNotLeading) || !errors.As(err, &why) || called {
				t.Errorf("called %v: %v", called, err)
			}
		})
	})
	t.Run("during", func(t *testing.T) {
		w := &wire{}
		var store lock.Store
		last := func(ctx context.Context, g *fence.Gate) error {
			if err := write(ctx, g, w); err != nil {
				return err
			}
			steal(t, store)
			after(time.Millisecond)
			return write(ctx, g, w)
		}
		draining(t, last, func(t *testing.T, m1 *member, _ *fence.Gate, _ *memory.Realm, drained <-chan error) {
			store = m1.store
			m1.stop()
			if err := <-drained; !errors.Is(err, fence.ErrNotLeading) || len(w.seen()) != 1 {
				t.Errorf("sent %v: %v", w.seen(), err)
			}
		})
	})
	t.Run("not renewed", func(t *testing.T) {
		called := false
		draining(t, func(context.Context, *fence.Gate) error { called = true; return nil }, func(t *testing.T, m1 *member, _ *fence.Gate, _ *memory.Realm, drained <-chan error) {
			m1.store.On(memory.Put, memory.Hang())
			if err := <-drained; !errors.Is(err, fence.ErrNotLeading) || called {
				t.Errorf("called %v: %v", called, err)
			}
			m1.store.Heal()
		})
	})
	t.Run("no manager", func(t *testing.T) {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		err := closed().Drain(over, election.Term{Election: "shut", Token: record.Token(1)}, func(context.Context) error { t.Error("called"); return nil })
		if !errors.Is(err, fence.ErrNotLeading) {
			t.Error(err)
		}
	})
}

// TestGraceOfADisabledElection checks that work of an election that is not held has a grace as well, and no stamps.
func TestGraceOfADisabledElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := clocktest.Bubble{}
		m, err := election.NewManager(election.Config{Group: "edge", Host: "m1", Member: election.Member{Revision: "stable"}, Locks: memory.New(clock).Store(), Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		w := &wire{}
		var g *fence.Gate
		status, err := m.Add(election.Spec{Name: "a", Disabled: true}, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			return g.Drain(ctx, term, func(ctx context.Context) error {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://cluster/api/v1/namespaces/x/configmaps", strings.NewReader("k8s"))
				if err != nil {
					return err
				}
				_, err = (&http.Client{Transport: g.Stamping(w)}).Do(req)
				return err
			})
		}))
		if err != nil {
			t.Fatal(err)
		}
		g = gateOf(t, status)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		after(time.Second)
		cancel()
		if err := <-done; err != nil || len(w.seen()) != 1 {
			t.Errorf("sent %v: %v", w.seen(), err)
		}
	})
}
