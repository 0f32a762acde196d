// Package acquired finds elections that the canary should lead and does not take.
package acquired

import (
	"fmt"
	"slices"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check"
)

// Check fails for an election that has been on its way to a ready member of the canary for
// the spec's acquireTimeout, while one controller saw the group without a gap.
type Check struct{}

// Name implements check.Check.
func (Check) Name() string { return "acquired" }

// Find implements check.Check.
func (Check) Find(s check.Sight) (found []rollout.Failure) {
	since := map[string]rollout.Time{}
	for _, m := range s.Status.Moving {
		since[m.Election] = m.Since
	}
	for _, e := range s.InReach() {
		last, moving := since[e.Name]
		began := last.Time
		if s.Seen.Since.After(began) {
			began = s.Seen.Since
		}
		if !moving || e.Revision == s.Spec.Canary || e.Canary == "" || s.Now.Before(began.Add(s.Spec.AcquireTimeout)) {
			continue
		}
		holder := "nobody leads"
		if e.Holder != "" {
			holder = e.Holder + " leads on"
		}
		what := fmt.Sprintf("not acquired within %v although %s is ready: %s", s.Spec.AcquireTimeout, e.Canary, holder)
		for _, identity := range []string{e.Holder, e.Canary} {
			if slices.Contains(s.Seen.Divided, identity) {
				what += ", and " + identity + " sees another preference"
			}
		}
		found = append(found, rollout.Failure{Election: e.Name, What: what})
	}
	return found
}
