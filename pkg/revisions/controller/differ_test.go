package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// mixed is an election with settings of its own.
type mixed struct {
	name   string
	policy priority.Policy
	bend   func(*citizen, *election.Spec)
	// follows: between members of equal weight, the revision decides who leads.
	follows bool
	// fresh: the election began when both revisions were present, so either may lead it.
	fresh bool
}

// kinds are the kinds of elections, without a policy.
var kinds = []mixed{
	{name: "session"},
	{name: "record", bend: func(_ *citizen, s *election.Spec) { s.Renewal = record.RenewalRecord }},
	{name: "configmap", bend: func(m *citizen, s *election.Spec) { s.Locks = m.others }},
	{name: "shared", bend: func(_ *citizen, s *election.Spec) { s.Foreign.Sharing = election.SharedWithClientGo }},
	{name: "migrated", bend: func(m *citizen, s *election.Spec) {
		s.MigrateFrom = &election.LockRef{Lock: s.Lock, Locks: m.others}
	}},
	{name: "range", bend: func(_ *citizen, s *election.Spec) { s.Range = true }},
	{name: "failopen", bend: func(_ *citizen, s *election.Spec) { s.Outage.Mode = election.OutageFailOpen }},
	{name: "minhold", bend: func(_ *citizen, s *election.Spec) { s.Timing = timing; s.Timing.MinHold = 5 * time.Minute }},
	{name: "delayed", bend: func(_ *citizen, s *election.Spec) { s.Timing = timing; s.Timing.PreemptDelay = 2 * time.Minute }},
	{name: "long", bend: func(_ *citizen, s *election.Spec) {
		s.Timing = timing
		s.Timing.LeaseDuration = time.Minute
		s.Range = true
	}},
	{name: "disabled", bend: func(_ *citizen, s *election.Spec) { s.Disabled = true }},
}

// bendOf is how elections of the named kind differ.
func bendOf(kind string) func(*citizen, *election.Spec) {
	return kinds[slices.IndexFunc(kinds, func(k mixed) bool { return k.name == kind })].bend
}

// policies are all policies, and chains of criteria in which revisions come first, last or not at
// all.
var policies = []mixed{
	{name: "revision-location", policy: priority.RevisionLocation{}, follows: true},
	{name: "none", policy: priority.None{}},
	{name: "weight", policy: priority.By(priority.ByWeight)},
	{name: "preferred", policy: priority.By(priority.ByPreferred), follows: true},
	{name: "location-weight", policy: priority.By(priority.ByLocation, priority.ByWeight)},
	{name: "preferred-weight", policy: priority.By(priority.ByPreferred, priority.ByWeight), follows: true},
	{name: "weight-preferred", policy: priority.By(priority.ByWeight, priority.ByPreferred), follows: true},
	{name: "location-preferred", policy: priority.By(priority.ByLocation, priority.ByPreferred), follows: true},
}

// everything returns each kind with each policy.
func everything() (all []mixed) {
	for _, k := range kinds {
		for _, p := range policies {
			all = append(all, mixed{name: k.name + "." + p.name, policy: p.policy, bend: k.bend, follows: p.follows && k.name != "disabled"})
		}
	}
	return all
}

// eachOnce returns each kind with the usual policy, and each policy with the usual kind.
func eachOnce() (all []mixed) {
	for _, e := range everything() {
		kind, policy, _ := strings.Cut(e.name, ".")
		if kind == "session" || policy == "revision-location" || policy == "none" && kind == "minhold" {
			all = append(all, e)
		}
	}
	return all
}

// settled is how long a group needs until every election is led.
const settled = 3 * time.Minute

// want checks which revision leads: the given one in elections that follow revisions, red in the
// others.
func (c *crowd) want(following string) {
	c.Helper()
	led := c.led()
	for _, e := range c.mixed {
		want := "red"
		switch {
		case e.follows:
			want = following
		case e.fresh:
			continue
		}
		if got := led[e.name]; got != want && !strings.Contains(e.name, "disabled") {
			c.Errorf("%s is led by %q, want %q", e.name, got, want)
		}
	}
}

// TestElectionsThatDiffer checks that a rollout over all kinds of elections, with all policies,
// completes without a failure, and that elections that don't follow revisions stay.
func TestElectionsThatDiffer(t *testing.T) {
	for _, weights := range [][]int{{100}, {10, 50, 100}} {
		t.Run(fmt.Sprint(weights), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, eachOnce()...)
				c.join(100, "red-1", "red-2")
				after(settled)
				c.join(100, "green-1", "green-2")
				after(time.Minute)
				c.want("red")
				var steps []rollout.Step
				for _, w := range weights {
					steps = append(steps, weigh(w))
				}
				c.start(steps...)
				p := c.phase(30*time.Minute, rollout.Complete)
				if len(p.Status.Failures) > 0 {
					t.Errorf("failures: %v", p.Status.Failures)
				}
				c.want("green")
			})
		})
	}
}

// TestOneThatDiffers checks the same for small groups, each with one election that differs.
func TestOneThatDiffers(t *testing.T) {
	for _, e := range eachOnce() {
		t.Run(e.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, mixed{name: "a-common-one", follows: true}, mixed{name: "b-common-one", follows: true}, e)
				c.join(100, "red-1")
				after(settled)
				c.join(100, "green-1")
				after(time.Minute)
				c.start(weigh(50), weigh(100))
				c.say(func(p rollout.Plan) (rollout.Plan, error) {
					spec := *p.Rollout
					p.Rollout, spec.WhenPreferredAbsent = &spec, rollout.RollbackWhenAbsent
					return p, nil
				})
				p := c.phase(30*time.Minute, rollout.Complete)
				if len(p.Status.Failures) > 0 {
					t.Errorf("failures: %v", p.Status.Failures)
				}
				c.want("green")
			})
		})
	}
}

// TestPreferenceThatChangesOnTheWay checks that pins that come and go, and so restart preemptDelay,
// cause no failure.
func TestPreferenceThatChangesOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "delayed", follows: true, bend: bendOf("delayed")}, mixed{name: "other", follows: true})
		c.join(100, "red-1")
		after(settled)
		c.join(100, "green-1")
		after(time.Minute)
		c.start(weigh(100))
		for range 5 {
			after(100 * time.Second)
			c.say(func(p rollout.Plan) (rollout.Plan, error) {
				if _, pinned := p.Pin("elsewhere"); pinned {
					return p.Unpin("elsewhere")
				}
				return p.PinTo(rollout.Pin{Election: "elsewhere", Revision: "red"})
			})
		}
		p := c.phase(10*time.Minute, rollout.Complete)
		if len(p.Status.Failures) > 0 {
			t.Errorf("failures: %v", p.Status.Failures)
		}
		c.want("green")
	})
}

// TestAbortOfAll checks that an abort takes every election back at once.
func TestAbortOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, eachOnce()...)
		c.join(100, "red-1", "red-2")
		after(10 * time.Minute) // every term is older than its minHold
		c.join(100, "green-1", "green-2")
		after(time.Minute)
		c.start(weigh(100), untilPromoted, weigh(100))
		for from := time.Now(); time.Since(from) < time.Minute || len(c.plan().Status.Moving) > 0; after(time.Second) {
		}
		c.want("green")
		c.say(rollout.Plan.Abort)
		after(10 * time.Second)
		led := c.led()
		for _, e := range c.mixed {
			if led[e.name] != "red" && !strings.HasPrefix(e.name, "long") && !strings.Contains(e.name, "disabled") {
				t.Errorf("10 s after the abort %s is led by %q", e.name, led[e.name])
			}
		}
		after(time.Minute)
		c.want("red")
	})
}

// TestElectionsComeAndGo checks that a rollout completes while elections of every kind are added and
// removed.
func TestElectionsComeAndGo(t *testing.T) {
	for _, e := range eachOnce() {
		t.Run(e.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, mixed{name: "a", follows: true}, mixed{name: "b", follows: true}, e)
				c.join(100, "red-1")
				after(settled)
				c.join(100, "green-1")
				after(time.Minute)
				c.start(weigh(50), untilPromoted, weigh(100))
				c.phase(10*time.Minute, rollout.Paused)
				again := e
				again.name, again.fresh = "again."+e.name, true
				c.mixed = append(slices.Clip(c.mixed[1:]), again)
				for _, m := range c.members {
					m.remove("a")
					m.take(again)
				}
				after(time.Minute)
				c.say(rollout.Plan.PromoteStep)
				p := c.phase(30*time.Minute, rollout.Complete)
				if len(p.Status.Failures) > 0 {
					t.Errorf("failures: %v", p.Status.Failures)
				}
				c.want("green")
			})
		})
	}
}
