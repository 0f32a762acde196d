package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// TestLockOfTwoGroups checks that a lock which a member of another group holds is not shown as if it were the selected group's.
func TestLockOfTwoGroups(t *testing.T) {
	const mark = "two groups cannot share a lock: a member of group edge holds it, and none of core"
	certs := held("certs", alice, "", 7, time.Second)
	free := changed(certs, func(r *record.Record) { r.Holder, r.Mark.Identity = "", "" })
	core, edge := status.Selection{Group: "core"}, status.Selection{Group: "edge"}
	expected := []status.Expected{{Election: "certs", Lock: "certs"}}
	moves := []status.Expected{{Election: "certs", Lock: "core-certs", MigrateFrom: status.Ref{Kind: status.Lease, Name: "certs"}}}
	for _, tt := range []struct {
		name      string
		selection status.Selection
		expected  []status.Expected
		lock      lock.Entry
		also      string
	}{
		{"held by the other group", core, expected, certs, "core"},
		{"held by its own group", edge, expected, certs, ""},
		{"held, and all groups are shown", status.Selection{}, expected, certs, ""},
		{"free since the other group left it", core, expected, free, ""},
		{"not renewed since the other group was renamed", core, expected, held("certs", alice, "", 7, time.Hour), ""},
		{"the group migrates away from it", core, moves, certs, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.selection.Expected = tt.expected
			r := status.Of(tt.selection, []lock.Entry{tt.lock}, now)
			if len(r.Elections) == 0 || r.Elections[0].AlsoOf != tt.also {
				t.Fatalf("got %+v, want one that is also of group %q", r.Elections, tt.also)
			}
			var b strings.Builder
			if err := r.Write(&b, status.Table); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), mark) != (tt.also != "") {
				t.Errorf("the table is\n%s", &b)
			}
		})
	}
}
