package controller_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// joinTwo joins a member of red, and later one of green. It returns what they warn of.
func (c *crowd) joinTwo() *observer.ObservedLogs {
	core, lines := observer.New(zap.WarnLevel)
	c.log = zap.New(core)
	c.join(100, "red-1")
	after(settled)
	c.join(100, "green-1")
	after(time.Minute)
	return lines
}

// outage lets the stores of locks and sessions answer nobody for d.
func (c *crowd) outage(d time.Duration) {
	c.Helper()
	var stores []*memory.Store
	for _, m := range c.members {
		stores = append(stores, m.leases, m.others)
	}
	for _, s := range stores {
		for _, op := range []memory.Op{memory.Get, memory.Put, memory.List, memory.Watch} {
			s.On(op, memory.Reject(lock.ErrUnknown))
		}
		s.CutWatches()
	}
	after(d)
	for _, s := range stores {
		s.Heal()
	}
}

// TestOutageIsNoFailure checks that the time in which nobody could move anything does not count as
// the canary's: after an outage the wait for elections on their way begins again.
func TestOutageIsNoFailure(t *testing.T) {
	for range 8 { // who wins what after the outage is a matter of chance
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, mixed{name: "delayed", follows: true, bend: bendOf("delayed")}, mixed{name: "web", follows: true})
			c.join(100, "red-1", "red-2")
			after(settled)
			c.join(100, "green-1", "green-2")
			after(time.Minute)
			c.start(weigh(100))
			after(time.Minute)
			c.outage(5 * time.Minute)
			p := c.phase(30*time.Minute, rollout.Complete)
			if len(p.Status.Failures) > 0 {
				t.Errorf("failures: %v", p.Status.Failures)
			}
			c.want("green")
		})
	}
}

// TestSaysThatItSeesNothing checks that a controller that stands still because it does not see a lock names that lock in the
// log, once.
func TestSaysThatItSeesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "web", follows: true}, mixed{name: "elsewhere", follows: true, bend: bendOf("configmap")})
		lines := c.joinTwo()
		for _, m := range c.members {
			m.others.On(memory.List, memory.Reject(lock.ErrDenied))
			m.others.On(memory.Watch, memory.Reject(lock.ErrDenied))
			m.others.CutWatches()
		}
		c.start(weigh(100))
		after(10 * time.Minute)
		said := lines.FilterMessage("the rollout does not go on").All()
		if len(said) != 1 || !strings.Contains(said[0].ContextMap()["error"].(string), "elsewhere") {
			t.Errorf("said %v", said)
		}
		for _, m := range c.members {
			m.others.Heal()
		}
		c.phase(10*time.Minute, rollout.Complete)
		c.want("green")
	})
}

// TestDefaultOfOthers checks that a controller does not replace a default revision that is neither stable nor the canary, says
// so once, and tries on.
func TestDefaultOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "web", follows: true})
		lines := c.joinTwo()
		c.prefer("blue")
		c.start(weigh(100))
		c.phase(5*time.Minute, rollout.Promoted)
		after(10 * time.Minute)
		if said := lines.FilterMessageSnippet("the default revision could not be set").All(); len(said) != 1 {
			t.Errorf("said %d times", len(said))
		}
		c.prefer("red")
		c.phase(time.Minute, rollout.Complete)
	})
}

// TestDefaultOfALaterAttempt checks that a controller makes the canary the default a second time if an operator set the
// default back, and then tried the rollout again.
func TestDefaultOfALaterAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "web", follows: true})
		c.joinTwo()
		c.say(func(p rollout.Plan) (rollout.Plan, error) {
			return p.PinTo(rollout.Pin{Election: own, Revision: "red"})
		})
		c.start(weigh(100))
		c.phase(5*time.Minute, rollout.Complete)
		c.say(rollout.Plan.Abort)
		c.phase(time.Minute, rollout.Aborted)
		c.prefer("red")
		after(time.Minute)
		c.say(rollout.Plan.Retry)
		c.phase(10*time.Minute, rollout.Complete)
	})
}

// prefer sets the default revision.
func (c *crowd) prefer(revision string) {
	c.Helper()
	cm, err := c.maps.Get(c.Context(), "revisions", metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	cm.Data["default"] = revision
	if _, err := c.maps.Update(c.Context(), cm, metav1.UpdateOptions{}); err != nil {
		c.Fatal(err)
	}
}

// byDefault returns the default revision.
func (c *crowd) byDefault() string {
	c.Helper()
	cm, err := c.maps.Get(c.Context(), "revisions", metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return cm.Data["default"]
}

// TestPlanOfAnotherCluster checks that the words that the log names help a rollout whose status has a higher token than any term
// here.
func TestPlanOfAnotherCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "web", follows: true})
		lines := c.joinTwo()
		c.start(untilPromoted, weigh(100))
		c.phase(5*time.Minute, rollout.Paused)
		c.say(func(p rollout.Plan) (rollout.Plan, error) {
			status := *p.Status
			p.Status, status.Token = &status, 1<<60
			return p, nil
		})
		c.say(rollout.Plan.PromoteStep)
		after(time.Minute)
		said := lines.FilterMessage("the rollout does not go on").All()
		if len(said) != 1 || !strings.Contains(said[0].ContextMap()["error"].(string), "primacy rollout abort and then retry") || c.plan().Phase() != rollout.Paused {
			t.Fatalf("said %v; the rollout is %s", said, c.plan().Phase())
		}
		c.say(rollout.Plan.Abort)
		c.say(rollout.Plan.Retry)
		c.phase(time.Minute, rollout.Paused)
		c.say(rollout.Plan.PromoteStep)
		c.phase(5*time.Minute, rollout.Complete)
		c.want("green")
	})
}

// TestOutagesAreNoFlaps checks that no check blames the canary for terms that ended because the API server answered nobody.
func TestOutagesAreNoFlaps(t *testing.T) {
	for range 8 { // who wins what after the outage is a matter of chance
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, mixed{name: "web", follows: true}, mixed{name: "other", follows: true})
			c.join(100, "red-1", "red-2")
			after(settled)
			c.join(100, "green-1", "green-2")
			after(time.Minute)
			c.start(weigh(50), untilPromoted, weigh(100))
			c.phase(5*time.Minute, rollout.Paused)
			for range 2 {
				c.outage(12 * time.Second)
				after(20 * time.Second)
			}
			after(5 * time.Minute)
			if p := c.plan(); p.Phase() != rollout.Paused || len(p.Status.Failures) > 0 {
				t.Errorf("the rollout is %s: %v", p.Phase(), p.Status.Failures)
			}
		})
	}
}
