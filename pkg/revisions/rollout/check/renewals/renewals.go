// Package renewals finds members of the canary whose renewals fail.
package renewals

import (
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check"
)

// Check fails for a member of the canary that leads an election in reach and whose session was not
// renewed for half its duration, while most members outside the canary renewed theirs. If their
// sessions were late as well, the API server is slow, or the controller does not see them.
type Check struct{}

// Name implements check.Check.
func (Check) Name() string { return "renewals" }

// Find implements check.Check.
func (Check) Find(s check.Sight) (found []rollout.Failure) {
	for _, m := range s.Canaries() {
		silent := m.Silent()
		if silent <= m.Duration/2 || !othersRenew(s, m, silent) {
			continue
		}
		for _, e := range s.InReach() {
			if e.Holder == m.Identity {
				found = append(found, rollout.Failure{Member: m.Identity,
					What: fmt.Sprintf("no renewal seen for %v, more than half of %v", silent.Round(100*time.Millisecond), m.Duration)})
				break
			}
		}
	}
	return found
}

// othersRenew says whether most witnesses were never silent for half as long as the member was.
// Witnesses are the members outside the canary, or, where none lives, all others.
//
// Why half: while the API server answers nobody, silences differ by one renewInterval at most. If
// such an outage lasts longer than a renewInterval, a witness is silent for more than half as long as
// the member. If it is shorter, a witness's usual silence is half already.
func othersRenew(s check.Sight, m rollout.Member, silent time.Duration) bool {
	witnesses := slices.DeleteFunc(slices.Clone(s.Seen.Members), func(o rollout.Member) bool { return o.Revision == s.Spec.Canary })
	if len(witnesses) == 0 {
		witnesses = slices.DeleteFunc(s.Canaries(), func(o rollout.Member) bool { return o.Identity == m.Identity })
	}
	renew := 0
	for _, o := range witnesses {
		if 2*o.LongestSilence(silent) < silent {
			renew++
		}
	}
	return 2*renew > len(witnesses)
}
