package priority

import "github.com/primacy-dev/primacy/pkg/election/record"

// FollowsRevision says whether a policy looks at the preferred revision: whether one member
// outranks another that is like it in everything else, because its revision is preferred. An
// election whose policy does not is not moved by a default, a pin to a revision or a rollout.
func FollowsRevision(p Policy) bool {
	member := func(revision string) Candidate {
		return Weighed(record.Member{Revision: revision, Location: record.Local})
	}
	return Outranks(p, member("b"), member("a"), record.Prefer("b"))
}
