package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// member returns the member with the given name.
func (c *crowd) member(name string) *citizen {
	c.Helper()
	i := slices.IndexFunc(c.members, func(m *citizen) bool { return m.name == name })
	if i < 0 {
		c.Fatalf("no member %s", name)
	}
	return c.members[i]
}

// part makes a member leave the group.
func (c *crowd) part(name string) {
	c.Helper()
	m := c.member(name)
	m.stop()
	c.members = slices.DeleteFunc(c.members, func(o *citizen) bool { return o == m })
}

// crash ends a member; its releases are not stored.
func (c *crowd) crash(name string) {
	c.Helper()
	for _, s := range []*memory.Store{c.member(name).leases, c.member(name).others} {
		s.On(memory.Put, memory.Reject(lock.ErrUnknown))
	}
	c.part(name)
}

// exchange gives a member the same election again, as a change of its configuration does.
func (m *citizen) exchange(name string) {
	m.Helper()
	roster, _ := m.elections()
	i := slices.IndexFunc(roster, func(e election.Spec) bool { return e.Name == name })
	if err := m.manager.Apply(election.Change{Put: []election.Entry{{Spec: roster[i], Runner: election.RunnerFunc(m.work)}}}); err != nil {
		m.Fatal(err)
	}
}

// halfway starts a rollout that moves everything to the canary, and then pauses.
func (c *crowd) halfway(checks ...string) {
	c.Helper()
	c.start(weigh(100), untilPromoted, weigh(100))
	if checks != nil {
		c.say(func(p rollout.Plan) (rollout.Plan, error) {
			spec := *p.Rollout
			p.Rollout, spec.Checks = &spec, checks
			return p, nil
		})
	}
}

// restartAll restarts both members of the canary, one after the other, three times.
func restartAll(c *crowd) {
	for range 3 {
		for _, m := range []string{"green-1", "green-2"} {
			c.part(m)
			after(time.Second)
			c.join(100, m)
			after(10 * time.Second)
		}
	}
}

// TestWhatIsNoFlap checks that an election that often changes hands because its members want that
// causes no rollback.
func TestWhatIsNoFlap(t *testing.T) {
	for name, tt := range map[string]struct {
		others int
		change func(*crowd)
	}{
		"a changed configuration": {change: func(c *crowd) {
			for range 2 {
				for _, m := range []string{"green-1", "green-2"} {
					c.member(m).exchange("web")
					after(5 * time.Second)
				}
			}
		}},
		"a rolling restart": {change: restartAll},
		// With so many elections the end of the session takes the place of single releases.
		"a rolling restart of many elections": {others: 200, change: restartAll},
		"new Pods": {change: func(c *crowd) {
			for _, pod := range []string{"green-3", "green-4", "green-5", "green-6"} {
				c.join(100, pod)
				after(5 * time.Second)
				c.part(c.leads("web"))
				after(5 * time.Second)
			}
		}},
		"rank": {change: func(c *crowd) {
			for i, m := range []string{"green-3", "green-4", "green-5", "green-6"} {
				c.join(200+i, m)
				after(10 * time.Second)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				elections := []mixed{{name: "web", policy: priority.By(priority.ByPreferred, priority.ByWeight), follows: true}}
				for i := range tt.others {
					elections = append(elections, mixed{name: fmt.Sprintf("other-%d", i), follows: true})
				}
				c := newCrowd(t, elections...)
				c.join(100, "red-1")
				after(settled)
				c.join(100, "green-1", "green-2")
				after(time.Minute)
				c.halfway()
				c.phase(5*time.Minute, rollout.Paused)
				before := c.taken("web")
				tt.change(c)
				if n := c.taken("web") - before; n < 3 {
					t.Fatalf("web changed hands %d times, so nothing was tried", n)
				}
				if p := c.plan(); p.Phase() != rollout.Paused || len(p.Status.Failures) > 0 {
					t.Errorf("the rollout is %s: %v", p.Phase(), p.Status.Failures)
				}
			})
		})
	}
}

// TestOneCrashIsNoFlap checks that one crash of a member of the canary proves nothing, though the
// election changes hands three times because of it.
func TestOneCrashIsNoFlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "web", follows: true})
		c.join(100, "red-1")
		after(settled)
		c.join(100, "green-1")
		after(time.Minute)
		c.halfway("flaps")
		c.phase(time.Minute, rollout.Paused)
		c.crash("green-1")
		after(time.Second)
		c.join(100, "green-1")
		after(time.Minute)
		if c.leads("web") != "green-1" {
			t.Fatalf("web is led by %q", c.leads("web"))
		}
		if p := c.plan(); p.Phase() != rollout.Paused || len(p.Status.Failures) > 0 {
			t.Errorf("the rollout is %s: %v", p.Phase(), p.Status.Failures)
		}
	})
}

// leads returns the member at work in an election; empty for none.
func (c *crowd) leads(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for member := range c.at[name] {
		return member
	}
	return ""
}

// taken returns how often the election's lock has been taken.
func (c *crowd) taken(name string) int { return c.leases.Read(name).Record.Transitions }

// TestCanaryThatFlaps checks that the check flaps alone rolls back a canary that loses an election
// again and again, whatever the cause.
func TestCanaryThatFlaps(t *testing.T) {
	for name, change := range map[string]func(*crowd){
		"its work fails": func(c *crowd) {
			c.mu.Lock()
			c.failing["web"] = "green"
			c.mu.Unlock()
			c.member("green-1").exchange("web") // its next term and all later ones fail
		},
		"it crashes and comes back": func(c *crowd) {
			for range 4 {
				c.crash("green-1")
				after(time.Second)
				c.join(100, "green-1")
				for from := time.Now(); c.leads("web") != "green-1" && time.Since(from) < 5*time.Minute; after(time.Second) {
					if c.plan().Phase() == rollout.RolledBack {
						return
					}
				}
			}
		},
		"one Pod after the other crashes": func(c *crowd) {
			for _, pod := range []string{"green-2", "green-3", "green-4"} {
				c.join(100, pod)
				after(time.Second)
				c.crash(c.leads("web"))
				after(20 * time.Second)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, mixed{name: "web", follows: true})
				c.join(100, "red-1")
				after(settled)
				c.join(100, "green-1")
				after(time.Minute)
				c.halfway("flaps")
				c.phase(time.Minute, rollout.Paused)
				change(c)
				p := c.phase(5*time.Minute, rollout.RolledBack)
				if !strings.Contains(p.Status.Message, "flaps, web: ") {
					t.Errorf("message %q", p.Status.Message)
				}
			})
		})
	}
}
