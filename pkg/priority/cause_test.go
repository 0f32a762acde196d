package priority

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestCauseOf checks what is named as the cause where several would do: what decides first.
func TestCauseOf(t *testing.T) {
	member := func(identity, revision string) Candidate {
		return Weighed(record.Member{Identity: identity, Revision: revision, Location: record.Local})
	}
	one, other := member("web-0_00000001", "red"), member("web-1_00000002", "green")
	pinned, drained := record.Prefer("red"), record.Prefer("red")
	pinned.Member = "web-0"
	drained.Member, drained.Drained = "web-0", record.HostsOf("web-1")
	for want, tt := range map[Cause]struct {
		challenger Candidate
		preferred  record.Preferred
	}{
		ByPolicy:   {member("web-3_00000003", "green"), record.Prefer("red")},
		ByRevision: {one, record.Prefer("red")},
		ByPin:      {one, pinned},
		ByDrain:    {one, drained},
	} {
		if got := CauseOf(tt.challenger, other, tt.preferred); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if got := CauseOf(one, other, record.Preferred{State: record.PreferredNotSynced, Revision: "red"}); got != ByPolicy {
		t.Errorf("%v by a preference that is not known", got)
	}
}
