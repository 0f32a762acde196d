package controller_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// gated is work that is not ready before the gate opens.
type gated struct {
	*citizen
	open *atomic.Bool
}

func (g gated) Run(ctx context.Context, term election.Term) error { return g.work(ctx, term) }

func (g gated) Readiness(ctx context.Context, report func(error)) error {
	for {
		if g.open.Load() {
			report(nil)
		} else {
			report(errors.New("no database"))
		}
		if !clock.Wait(ctx, time.Second) {
			return nil
		}
	}
}

// joinGated joins members of red, and then one of green that is ready for the controller's own election alone until the gate
// opens.
func (c *crowd) joinGated() (open *atomic.Bool) {
	c.Helper()
	c.join(100, "red-1", "red-2")
	after(settled)
	elections := c.mixed
	c.mixed, open = nil, &atomic.Bool{}
	c.join(100, "green-1")
	c.mixed = elections
	green := c.member("green-1")
	for _, e := range elections {
		green.add(election.Spec{Name: e.name, Lock: e.name, Locks: green.leases, Bootstrap: election.BootstrapImmediate}, gated{green, open})
	}
	after(time.Minute)
	return open
}

// TestCanaryThatIsReadyForNothing checks that a rollout waits at its first step while no program of the canary is ready: the
// controller's own election, which has none, shows nothing. Once they are ready, the rollout goes on.
func TestCanaryThatIsReadyForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "a", follows: true}, mixed{name: "b", follows: true}, mixed{name: "c", follows: true})
		open := c.joinGated()
		c.start(weigh(30), rollout.Step{Analysis: &rollout.Analysis{For: time.Minute}}, weigh(100))
		after(10 * time.Minute)
		if p := c.plan(); p.Phase() != rollout.Progressing || p.Status.Step != 1 {
			t.Errorf("the rollout is %s in step %d: %s", p.Phase(), p.Status.Step, p.Status.Message)
		}
		c.want("red")
		open.Store(true)
		c.phase(10*time.Minute, rollout.Complete)
		c.want("green")
	})
}

// TestNoDefaultForTheOwnElectionAlone checks that the controller does not make a canary the default that leads no other
// election, although an operator passed all steps.
func TestNoDefaultForTheOwnElectionAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "a", follows: true}, mixed{name: "b", follows: true})
		open := c.joinGated()
		c.start(weigh(100))
		after(time.Minute)
		c.say(rollout.Plan.PromoteStep)
		after(10 * time.Minute)
		who := record.HostOf(c.leases.Read(own).Record.Holder)
		if p := c.plan(); p.Phase() != rollout.Promoted || who != "green-1" || c.byDefault() != "red" {
			t.Errorf("the rollout is %s, %s is led by %s, the default is %s", p.Phase(), own, who, c.byDefault())
		}
		open.Store(true)
		c.phase(10*time.Minute, rollout.Complete)
		after(time.Minute)
		c.want("green")
	})
}

// TestDefaultWhereAllOthersArePinned checks that the controller makes the canary the default once it leads the controller's own election, if the
// rollout moves no other.
func TestDefaultWhereAllOthersArePinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "a", follows: true}, mixed{name: "b", follows: true})
		c.join(100, "red-1", "red-2", "green-1")
		after(settled)
		for _, name := range []string{"a", "b"} {
			c.say(func(p rollout.Plan) (rollout.Plan, error) {
				return p.PinTo(rollout.Pin{Election: name, Revision: "red"})
			})
		}
		c.start(weigh(100))
		c.phase(10*time.Minute, rollout.Complete)
		if got := c.byDefault(); got != "green" {
			t.Errorf("the default is %s", got)
		}
	})
}
