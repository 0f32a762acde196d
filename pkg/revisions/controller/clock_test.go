package controller_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// setClock is a clock whose wall time somebody sets.
type setClock struct {
	clocktest.Bubble
	off atomic.Int64
}

func (s *setClock) Wall() time.Time { return time.Now().Add(time.Duration(s.off.Load())) }

func (s *setClock) set(off time.Duration) { s.off.Store(int64(off)) }

func (c *crowd) clockOf(name string) clock.Clock {
	if s := c.clocks[name]; s != nil {
		return s
	}
	return c.clock
}

// TestClockSetForwardIsNoFailure checks that the wait for an election on its way begins anew if somebody sets the wall clock of
// the controller's machine.
func TestClockSetForwardIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "delayed", follows: true, bend: bendOf("delayed")})
		c.clocks = map[string]*setClock{"red-1": {}}
		c.joinTwo()
		c.start(rollout.Step{Pause: &rollout.Pause{Duration: time.Minute}}, weigh(100), untilPromoted, weigh(100))
		for c.plan().Status == nil || len(c.plan().Status.Moving) == 0 {
			after(time.Second)
		}
		if who := record.HostOf(c.leases.Read(own).Record.Holder); who != "red-1" {
			t.Fatalf("the controller is %s", who)
		}
		c.clocks["red-1"].set(10 * time.Minute)
		p := c.phase(5*time.Minute, rollout.Paused)
		if len(p.Status.Failures) > 0 {
			t.Errorf("failures: %v", p.Status.Failures)
		}
		c.want("green")
	})
}

// TestClocksThatDifferAreNoFailure checks that a rollout completes whatever the members' wall clocks show, and although somebody
// sets the clock of the controller's machine again and again. A lock with ranges needs clocks that agree, and one with
// minHold needs a holder whose clock nobody sets.
func TestClocksThatDifferAreNoFailure(t *testing.T) {
	bends := []string{"session", "record", "configmap", "shared", "migrated", "failopen", "delayed"}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 11))
				var elections []mixed
				for i := range 6 {
					e := mixed{name: fmt.Sprintf("e%d", i), follows: true}
					if r.IntN(2) == 0 {
						e.bend = bendOf(bends[r.IntN(len(bends))])
					}
					elections = append(elections, e)
				}
				c := newCrowd(t, elections...)
				names := []string{"red-1", "red-2", "red-3", "green-1", "green-2"}
				wrong := func() time.Duration { return time.Duration(r.IntN(1200)-600) * time.Second }
				c.clocks = map[string]*setClock{}
				for _, name := range names {
					c.clocks[name] = &setClock{}
					c.clocks[name].set(wrong())
				}
				c.join(100, names[:3]...)
				after(settled)
				c.join(100, names[3:]...)
				after(time.Minute)
				c.start(weigh(20), rollout.Step{Pause: &rollout.Pause{Duration: time.Minute}}, weigh(50), rollout.Step{Analysis: &rollout.Analysis{For: 2 * time.Minute}}, weigh(100))
				for range 15 {
					after(time.Duration(r.IntN(40_000)) * time.Millisecond)
					if s := c.clocks[record.HostOf(c.leases.Read(own).Record.Holder)]; s != nil {
						s.set(wrong())
					}
				}
				if p := c.phase(time.Hour, rollout.Complete); len(p.Status.Failures) > 0 {
					t.Errorf("failures: %v", p.Status.Failures)
				}
				c.want("green")
			})
		})
	}
}
