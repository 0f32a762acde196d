package election_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// late shows each stored change late, by what lag says for the time of its writing.
func late(lag func() time.Duration) memory.Hook {
	return func(ctx context.Context, c memory.Call, op func() error) error {
		if c.Record != nil {
			written := c.Record.Renewed
			for time.Since(written) < lag() {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-clock.NewTimer(10 * time.Millisecond).C:
				}
			}
		}
		return op()
	}
}

// rising is a lag that grows little by little, and stays.
func rising(to time.Duration) func() time.Duration {
	began := time.Now()
	return func() time.Duration { return min(to, time.Since(began)/2) }
}

// bursts is a watch that shows events only once in a while.
func bursts(every time.Duration) func() time.Duration {
	began := time.Now()
	return func() time.Duration {
		if since := time.Since(began) % every; since < 100*time.Millisecond {
			return 0
		}
		return time.Hour
	}
}

// lags are the ways in which a watch may be late for any length of time.
var lags = map[string]func() func() time.Duration{
	"by less than a lease":       func() func() time.Duration { return rising(8 * time.Second) },
	"by a lease":                 func() func() time.Duration { return rising(15 * time.Second) },
	"by more than a lease":       func() func() time.Duration { return rising(21 * time.Second) },
	"by more than two":           func() func() time.Duration { return rising(34 * time.Second) },
	"by half an hour":            func() func() time.Duration { return rising(30 * time.Minute) },
	"in bursts, of a lease":      func() func() time.Duration { return bursts(16 * time.Second) },
	"in bursts, of nearly two":   func() func() time.Duration { return bursts(27 * time.Second) },
	"in bursts, of two and more": func() func() time.Duration { return bursts(33 * time.Second) },
}

// secondsLed counts, of the next n seconds, those in which the member `by` leads the election. The
// parameter `of` lists all members.
func secondsLed(n int, election string, by *member, of ...*member) (led int) {
	for range n {
		after(time.Second)
		if slices.Contains(leaders(of...)[election], by.name) {
			led++
		}
	}
	return led
}

// TestLeaderWhoseWatchLags checks that a leader whose watch lags, by however much, or shows events in
// bursts, keeps its locks from the others only for a bounded time. Then another leads, and the former
// leader does not lead again while it sees no better, though it is preferred.
func TestLeaderWhoseWatchLags(t *testing.T) {
	for name, lag := range lags {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a", "b")
				m1 := g.join("m1", "canary", canary)
				after(20 * time.Second)
				m2 := g.join("m2", "stable", canary)
				after(20 * time.Second)
				g.wantLeader("a", m1, m1, m2)
				m1.store.On(memory.Deliver, late(lag()))
				led := secondsLed(480, "a", m2, m1, m2)
				if n := g.judge.terms(); led < 400 || n > 12 {
					t.Errorf("a is led by who sees well for %d s of 480, in %d terms of a and b", led, n)
				}
				m1.store.Heal()
				after(90 * time.Second)
				if l := leaders(m1, m2)["a"]; len(l) != 1 {
					t.Errorf("a is led by %v once all see", l)
				}
				g.end(m1, m2)
			})
		})
	}
}

// TestLeaderWhoseWatchLagsFailsOpen checks the same as TestLeaderWhoseWatchLags beside a term that fails
// open. That term goes on: it needs no sight, and its renewals get answers.
func TestLeaderWhoseWatchLagsFailsOpen(t *testing.T) {
	for name, lag := range lags {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a", "open")
				g.differ = func(s *election.Spec) {
					if s.Name == "open" {
						s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
					}
				}
				m1 := g.join("m1", "stable", stable)
				after(20 * time.Second)
				m2 := g.join("m2", "stable", stable)
				after(20 * time.Second)
				g.wantLeader("a", m1, m1, m2)
				m1.store.On(memory.Deliver, late(lag()))
				led := secondsLed(480, "a", m2, m1, m2)
				if led < 400 {
					t.Errorf("a is led by who sees well for %d s of 480", led)
				}
				if s := m1.status["open"]; !s.IsLeader() || s.Cycle() != 1 {
					t.Errorf("the term that fails open: leads: %v, cycle %d", s.IsLeader(), s.Cycle())
				}
				m1.store.Heal()
				after(90 * time.Second)
				if l := leaders(m1, m2)["a"]; len(l) != 1 {
					t.Errorf("a is led by %v once all see", l)
				}
				m2.leave(t)
				after(20 * time.Second)
				g.wantLeader("a", m1, m1)
				g.end(m1)
			})
		})
	}
}
