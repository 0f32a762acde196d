// Package flaps finds elections that change hands again and again.
package flaps

import (
	"fmt"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check"
)

const (
	// most is how many times an election may be taken within the window. Its move is one,
	// and a member of the canary that is replaced meanwhile another.
	most = 2
	// window is in units of the spec's acquireTimeout.
	window = 5
)

// Check fails for an election in reach that was taken more than twice since the rollout
// began, within five times its acquireTimeout.
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
		for _, at := range e.Taken {
			if at.After(from) && !at.After(s.Now) {
				n++
			}
		}
		if n > most {
			found = append(found, rollout.Failure{Election: e.Name,
				What: fmt.Sprintf("changed hands %d times within %v", n, window*s.Spec.AcquireTimeout)})
		}
	}
	return found
}
