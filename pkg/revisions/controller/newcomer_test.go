package controller_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// probed is work that is not ready before its first probe has passed.
type probed struct{ *citizen }

func (p probed) Run(ctx context.Context, term election.Term) error { return p.work(ctx, term) }

func (probed) Readiness(ctx context.Context, report func(error)) error {
	time.Sleep(2 * time.Second)
	report(nil)
	<-ctx.Done()
	return nil
}

// TestANewcomerIsNoFailure checks that a rollout goes on although a second member of the canary comes, whose work is not ready yet.
func TestANewcomerIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "web", follows: true})
		c.join(100, "red-1")
		after(settled)
		c.join(100, "green-1")
		after(time.Minute)
		c.halfway()
		c.phase(time.Minute, rollout.Paused)
		c.join(100, "green-2")
		m := c.member("green-2")
		roster, _ := m.elections()
		i := slices.IndexFunc(roster, func(e election.Spec) bool { return e.Name == "web" })
		if err := m.manager.Apply(election.Change{Put: []election.Entry{{Spec: roster[i], Runner: probed{m}}}}); err != nil {
			t.Fatal(err)
		}
		after(time.Minute)
		if p := c.plan(); p.Phase() != rollout.Paused || len(p.Status.Failures) > 0 {
			t.Errorf("the rollout is %s: %v", p.Phase(), p.Status.Failures)
		}
	})
}

// TestACanaryOnProbation checks that a rollout waits for a canary that crashed twice before, in the profile default: holders move nothing
// to it for a while.
func TestACanaryOnProbation(t *testing.T) {
	before := timing
	defer func() { timing = before }()
	timing, _ = record.Profile("default")
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "web", follows: true})
		c.join(100, "red-1")
		after(settled)
		c.fallTwice("green-1")
		c.halfway()
		c.phase(4*time.Minute, rollout.Paused)
		if who := c.leads("web"); who != "green-1" {
			t.Errorf("web is led by %s", who)
		}
	})
}

// TestACanaryOnProbationIsNotAbsent checks that a rollout waits for it although a proven member of stable comes that outranks the holder.
func TestACanaryOnProbationIsNotAbsent(t *testing.T) {
	before := timing
	defer func() { timing = before }()
	timing, _ = record.Profile("default")
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "web", policy: priority.By(priority.ByPreferred, priority.ByWeight), follows: true})
		c.join(100, "red-1")
		after(settled)
		c.fallTwice("green-1")
		c.say(func(p rollout.Plan) (rollout.Plan, error) {
			return p.Start(rollout.Spec{
				UID: uid, Stable: "red", Canary: "green", Steps: []rollout.Step{weigh(100), untilPromoted, weigh(100)},
				AcquireTimeout: rollout.LeaseDurationsToAcquire * timing.LeaseDuration, WhenPreferredAbsent: rollout.RollbackWhenAbsent,
			}, time.Now())
		})
		after(10 * time.Second)
		c.join(200, "red-2")
		c.phase(4*time.Minute, rollout.Paused)
	})
}

// fallTwice lets a member join that crashed twice before.
func (c *crowd) fallTwice(name string) {
	c.Helper()
	for range 2 {
		c.join(100, name)
		after(5 * time.Second)
		c.crash(name)
		after(30 * time.Second)
	}
	c.join(100, name)
	after(5 * time.Second)
}
