// Package flaps finds elections that the canary loses again and again.
package flaps

import (
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check"
)

const (
	// most is how many times the canary may lose an election within the window: one crash
	// proves nothing.
	most = 1
	// window is in units of the spec's acquireTimeout.
	window = 5
)

// Check fails for an election in reach that members of the canary lost more than once since the
// rollout began, within five times the spec's acquireTimeout. They lost it if their work failed, or
// if their sessions ended, or were not seen, while they led. A voluntary release is no loss: an
// exchanged election, a member that leaves, a move for rank. A loss does not count if members of stable
// lost an election at about the same time, within half the acquireTimeout: then the API server answered
// nobody. In an outage they lose the controller's own election at least: they lead it until the end.
type Check struct{}

// Name implements check.Check.
func (Check) Name() string { return "flaps" }

// Find implements check.Check.
func (Check) Find(s check.Sight) (found []rollout.Failure) {
	from := s.Now.Add(-window * s.Spec.AcquireTimeout)
	if began := s.Status.Began.Time; began.After(from) {
		from = began
	}
	for _, e := range s.InReach() {
		n := 0
		for _, at := range e.Lost {
			if at.After(from) && !at.After(s.Now) && !stableLost(s, at) {
				n++
			}
		}
		if n > most {
			found = append(found, rollout.Failure{Election: e.Name,
				What: fmt.Sprintf("lost by the canary %d times within %v", n, window*s.Spec.AcquireTimeout)})
		}
	}
	return found
}

// stableLost says whether members of stable lost an election at about that time.
func stableLost(s check.Sight, at time.Time) bool {
	return slices.ContainsFunc(s.Seen.Elections, func(e rollout.Election) bool {
		return slices.ContainsFunc(e.StableLost, func(other time.Time) bool { return other.Sub(at).Abs() <= s.Spec.AcquireTimeout/2 })
	})
}
