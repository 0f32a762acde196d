// Package runners finds members of the canary whose runners fail.
package runners

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check"
)

// Check fails for an election in reach if the runners of a member of the canary failed there lately.
type Check struct{}

// Name implements check.Check.
func (Check) Name() string { return "runners" }

// Find implements check.Check.
func (Check) Find(s check.Sight) (found []rollout.Failure) {
	for _, m := range s.Canaries() {
		for _, e := range s.InReach() {
			if slices.Contains(e.Failed, m.Identity) {
				found = append(found, rollout.Failure{Election: e.Name, Member: m.Identity, What: "its runners failed"})
			}
		}
	}
	return found
}
