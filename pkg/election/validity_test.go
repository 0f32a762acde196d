package election_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestGuardEndsTheTerm holds a host up while the guard stops the work, so that the host sees a renewal
// late. It checks that the term is over all the same: IsLeader stays false while the work stops, nothing
// counts as failed, and the next term begins at once.
func TestGuardEndsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.stop = 2 * time.Second
		var cut atomic.Bool // the host has learned of the cut
		over := make(chan struct{})
		g.bend = func(c *election.Config, _ *election.Spec) {
			// The host is back while the work still stops.
			c.Log = heldUpBy(func() { <-over; time.Sleep(time.Second) }, func(e zapcore.Entry) bool {
				return e.Level == zap.WarnLevel && !cut.Swap(true)
			})
			c.Abort = func(err error) { t.Error(err) }
		}
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		g.wantLeader("a", m1, m1)
		status := m1.status["a"]
		first := status.ValidTerm()
		m1.store.On(memory.Put, memory.Named("a", func(_ context.Context, _ memory.Call, op func() error) error {
			err := op()
			if !cut.Load() { // a watch that is just opening is not cut
				m1.store.CutWatches() // holds the host up before it learns of this renewal
				time.Sleep(500 * time.Millisecond)
			}
			return err
		}))
		ended := make(chan election.Stop, 1)
		first.OnEnd(func(why election.Stop) {
			close(over)
			ended <- why
		})
		if why := <-ended; why.Reason != string(machine.ReasonExpired) {
			t.Errorf("the term ended: %v", why)
		}
		g.wantLeader("a", nil, m1)
		after(1500 * time.Millisecond) // the host is back, the work still stops
		g.wantLeader("a", nil, m1)
		after(time.Second)
		g.wantLeader("a", m1, m1)
		if status.Cycle() != 2 || status.ValidTerm().Token <= first.Token {
			t.Errorf("cycle %d, token %d after %d", status.Cycle(), status.ValidTerm().Token, first.Token)
		}
		m1.leave(t)
		g.verdict(2)
	})
}

// TestFlagFallsFirst checks that IsLeader is false before the work is told to stop, whatever ends the
// term, and watchers of the term learn of it.
func TestFlagFallsFirst(t *testing.T) {
	for name, end := range map[string]func(g *group, m *member){
		"leaves":       func(_ *group, m *member) { m.stop() },
		"removed":      func(g *group, m *member) { go func() { _ = m.manager.Remove(g.t.Context(), "a") }() },
		"lock deleted": func(g *group, _ *member) { g.realm.Delete("a") },
		"not renewed":  func(_ *group, m *member) { m.store.On(memory.Put, memory.Hang()) },
		"cut off":      func(_ *group, m *member) { hangAll(m.store); m.store.CutWatches() },
		"preempted":    func(_ *group, m *member) { m.prefs.values <- canary },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroup(t)
				m1 := g.join("m1", "stable", stable)
				var status *election.Status
				var stopped, up atomic.Int32
				status, err := m1.manager.Add(election.Spec{Name: "a"}, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
					var told atomic.Bool
					term.Valid().OnEnd(func(election.Stop) { told.Store(ctx.Err() == nil) })
					<-ctx.Done()
					stopped.Add(1)
					if status.IsLeader() || term.Valid() != nil || !told.Load() {
						up.Add(1)
					}
					return nil
				}))
				if err != nil {
					t.Fatal(err)
				}
				m1.status["a"] = status
				after(20 * time.Second)
				g.wantLeader("a", m1, m1)
				g.names = []string{"a"}
				m2 := g.join("m2", "canary", canary)
				after(15 * time.Second)
				end(g, m1)
				after(15 * time.Second)
				if stopped.Load() == 0 || up.Load() != 0 {
					t.Errorf("stopped %d times, the flag was up %d times", stopped.Load(), up.Load())
				}
				m1.store.Heal()
				m1.leave(t)
				m2.leave(t)
			})
		})
	}
}
