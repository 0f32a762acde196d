package controller_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// TestBystanderThatIsBehind checks that the check acquired fails a rollout in time although a member that has no part in
// the move sees another preference.
func TestBystanderThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, mixed{name: "delayed", follows: true, bend: bendOf("delayed")}, mixed{name: "web", follows: true})
		c.behind = []string{"red-2"}
		c.join(100, "red-1")
		after(settled)
		c.join(100, "red-2", "green-1")
		for _, name := range []string{"red-2", "green-1"} {
			c.member(name).remove("delayed") // the controller cannot see that
		}
		after(time.Minute)
		c.start(weigh(100))
		p := c.phase(10*time.Minute, rollout.RolledBack)
		if !strings.Contains(p.Status.Message, "acquired, delayed: ") {
			t.Errorf("message %q", p.Status.Message)
		}
	})
}

// writes counts the writes of all ConfigMaps.
func (c *crowd) writes() int {
	c.Helper()
	n, err := strconv.Atoi(c.stored().ResourceVersion)
	if err != nil {
		c.Fatal(err)
	}
	return n
}

// TestCanaryThatIsBehind checks that a rollout that stands still, since the canary sees another preference, says so.
func TestCanaryThatIsBehind(t *testing.T) {
	for name, tt := range map[string]struct {
		election mixed
		phase    rollout.Phase
	}{
		"it waits":      {mixed{name: "web", follows: true, bend: bendOf("delayed")}, rollout.Progressing},
		"it takes back": {mixed{name: "web", follows: true}, rollout.RolledBack},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, tt.election)
				c.behind = []string{"green-1"}
				c.join(100, "red-1")
				after(settled)
				c.join(100, "green-1")
				after(time.Minute)
				c.start(weigh(100))
				after(time.Minute)
				before := c.writes()
				after(4 * time.Minute)
				if n := c.writes() - before; n > 50 {
					t.Errorf("the status was written %d times in four minutes in which nothing happened", n)
				}
				p := c.plan()
				if got := p.Phase(); got != tt.phase {
					t.Errorf("the rollout is %s, want %s", got, tt.phase)
				}
				if !strings.Contains(p.Status.Message, "green-1_") || !strings.Contains(p.Status.Message, "another preference") {
					t.Errorf("message %q", p.Status.Message)
				}
			})
		})
	}
}
