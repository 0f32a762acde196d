package priority_test

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// TestWithin checks that members that take no part outrank nobody, even if pinned, preferred or heavier,
// and come after all that take part.
func TestWithin(t *testing.T) {
	member := func(identity, revision string, at record.Location, weight int) priority.Candidate {
		return priority.Weighed(record.Member{Identity: identity + "_00000001", Revision: revision, Location: at, Weight: weight})
	}
	mine, better, other := member("a", "red", record.Remote, 1), member("b", "red", record.Local, 9), member("c", "green", record.Local, 99)
	pinned := record.Prefer("green")
	pinned.Member = "c"
	for _, p := range []priority.Policy{priority.RevisionLocation{}, priority.None{}, priority.By(priority.ByWeight), priority.By(priority.ByPreferred, priority.ByLocation)} {
		w := priority.Within("red", p)
		for _, preferred := range []record.Preferred{record.Prefer("green"), record.Prefer("red"), pinned} {
			if priority.Outranks(w, other, mine, preferred) || priority.Order(w, other, mine, preferred) <= 0 {
				t.Errorf("%v: one of another revision is preferred with %v", w, preferred)
			}
			if got, want := priority.Outranks(w, better, mine, preferred), priority.Outranks(p, better, mine, preferred); got != want {
				t.Errorf("%v: among its own it says %v with %v, not %v", w, got, preferred, want)
			}
		}
		if priority.FollowsRevision(w) {
			t.Errorf("%v follows revisions", w)
		}
	}
}
