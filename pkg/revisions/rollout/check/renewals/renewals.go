// Package renewals finds members of the canary whose renewals fail.
package renewals

import (
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check"
)

// Check fails for a member of the canary that leads an election in reach and whose session was
// not renewed for half of what it lasts. While no other member is heard of either, it is
// the controller that does not see.
type Check struct{}

// Name implements check.Check.
func (Check) Name() string { return "renewals" }

// Find implements check.Check.
func (Check) Find(s check.Sight) (found []rollout.Failure) {
	if !slices.ContainsFunc(s.Seen.Members, func(m rollout.Member) bool { return !silent(m) }) {
		return nil
	}
	for _, m := range s.Canaries() {
		if !silent(m) {
			continue
		}
		for _, e := range s.InReach() {
			if e.Holder == m.Identity {
				found = append(found, rollout.Failure{Member: m.Identity,
					What: fmt.Sprintf("no renewal seen for %v, more than half of %v", m.Silent.Round(100*time.Millisecond), m.Duration)})
				break
			}
		}
	}
	return found
}

func silent(m rollout.Member) bool { return m.Silent > m.Duration/2 }
