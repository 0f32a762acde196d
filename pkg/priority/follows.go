package priority

import "github.com/primacy-dev/primacy/pkg/election/record"

// FollowsRevision says whether a policy considers the preferred revision: whether a member of
// the preferred revision outranks one that is otherwise equal. If not, no default, pin to a
// revision or rollout moves the policy's elections.
func FollowsRevision(p Policy) bool {
	member := func(revision string) Candidate {
		return Weighed(record.Member{Revision: revision, Location: record.Local})
	}
	return Outranks(p, member("b"), member("a"), record.Prefer("b"))
}
