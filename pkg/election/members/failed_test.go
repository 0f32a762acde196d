package members

import (
	"slices"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestFailed checks that those members have failed that stand down after their own work failed, and nobody who stands down for another reason.
func TestFailed(t *testing.T) {
	failed := record.Entry{Who: "green-1", Why: "released: " + string(machine.ReasonFailed)}
	lost := record.Entry{Who: "green-1", Why: "released: " + string(machine.ReasonExpired)}
	down := []string{"web"}
	for name, c := range map[string]struct {
		member  record.Member
		history []record.Entry
		failed  bool
	}{
		"failed":                        {record.Member{Standing: down}, []record.Entry{failed}, true},
		"failed in all elections":       {record.Member{Standing: []string{record.EveryElection}}, []record.Entry{failed}, true},
		"stands again":                  {record.Member{}, []record.Entry{failed}, false},
		"stands down for another alone": {record.Member{Standing: []string{"dns"}}, []record.Entry{failed}, false},
		"not ready":                     {record.Member{Standing: down, Lacks: []record.Lack{{Election: "web"}}}, []record.Entry{failed}, false},
		"not ready for another alone":   {record.Member{Standing: down, Lacks: []record.Lack{{Election: "dns"}}}, []record.Entry{failed}, true},
		"never led":                     {record.Member{Standing: down}, nil, false},
		"ended otherwise since":         {record.Member{Standing: down}, []record.Entry{failed, lost}, false},
		"another failed":                {record.Member{Standing: down}, []record.Entry{{Who: "red-1", Why: failed.Why}}, false},
	} {
		c.member.Identity = "green-1"
		got := Failed([]record.Member{c.member}, "web", c.history)
		if want := []string{"green-1"}; (len(got) > 0) != c.failed || c.failed && !slices.Equal(got, want) {
			t.Errorf("%s: %v have failed", name, got)
		}
	}
}
