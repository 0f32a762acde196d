package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// stall makes the store delay every write of the given members until d is over.
func (c *crowd) stall(d time.Duration, names ...string) {
	c.Helper()
	over := time.Now().Add(d)
	for _, name := range names {
		c.member(name).leases.On(memory.Put, func(ctx context.Context, call memory.Call, op func() error) error {
			return memory.Delay(time.Until(over))(ctx, call, op)
		})
	}
}

// renewing starts a rollout whose canary leads, with only the check renewals. The canary joins, and
// so beats, later than the others by the given time.
func renewing(t *testing.T, later time.Duration) *crowd {
	c := newCrowd(t, mixed{name: "web", follows: true})
	c.join(100, "red-1", "red-2")
	after(settled + later)
	c.join(100, "green-1")
	after(time.Minute)
	c.halfway("renewals")
	c.phase(time.Minute, rollout.Paused)
	return c
}

// TestRenewalsThatAreLateForAll checks that the canary is not blamed if the store answers nobody in
// time, whichever member's beat arrives first afterwards.
func TestRenewalsThatAreLateForAll(t *testing.T) {
	for phase := time.Duration(0); phase < timing.RenewInterval; phase += 250 * time.Millisecond {
		for lasts := timing.LeaseDuration / 4; lasts < 3500*time.Millisecond; lasts += 250 * time.Millisecond {
			t.Run(fmt.Sprint(phase, " later, ", lasts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := renewing(t, phase)
					c.stall(lasts, "red-1", "red-2")
					c.stall(lasts+500*time.Millisecond, "green-1")
					after(20 * time.Second)
					if p := c.plan(); p.Phase() != rollout.Paused || len(p.Status.Failures) > 0 {
						t.Errorf("the rollout is %s: %v", p.Phase(), p.Status.Failures)
					}
				})
			})
		}
	}
}

// TestRenewalsThatAreLateForTheCanary checks that the canary is rolled back if only its renewals are
// late.
func TestRenewalsThatAreLateForTheCanary(t *testing.T) {
	for phase := time.Duration(0); phase < timing.RenewInterval; phase += 250 * time.Millisecond {
		t.Run(fmt.Sprint(phase, " later"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := renewing(t, phase)
				c.stall(timing.LeaseDuration*2/3, "green-1")
				p := c.phase(timing.LeaseDuration, rollout.RolledBack)
				if !strings.Contains(p.Status.Message, "renewals, green-1_") {
					t.Errorf("message %q", p.Status.Message)
				}
			})
		})
	}
}
