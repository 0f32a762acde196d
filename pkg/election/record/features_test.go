package record_test

import (
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestFeatures checks that Clashes names each feature that another one rules out, with its field, and no
// others.
func TestFeatures(t *testing.T) {
	shared := record.Timing{LeaseDuration: 15 * time.Second, RenewInterval: 5 * time.Second}
	longer := shared
	longer.LeaseDuration = 30 * time.Second
	for _, tt := range []struct {
		of       record.Features
		clashes  string
		obstacle string
	}{
		{record.Features{}, "", ""},
		{record.Features{Disabled: true}, "", ""},
		{record.Features{Ranges: true, FailsOpen: true}, "", "ranges are made of"},
		{record.Features{FailsOpen: true}, "", "none can fail open alone"},
		{record.Features{Ranges: true, SharedWith: "istio"}, "range: shared with istio", "know nothing of sessions"},
		{record.Features{FailsOpen: true, Migrates: true}, "outage: migration", "being migrated"},
		{record.Features{Ranges: true, FailsOpen: true, Disabled: true}, "range: same range, outage: no outage", "ranges are made of"},
		{record.Features{Ranges: true, Migrates: true, Disabled: true}, "range: migration, range: same range", "being migrated"},
		{record.Features{Apart: true}, "", "kept elsewhere"},
		{record.Features{Timing: longer, Session: shared}, "", "sessions are shared"},
		{record.Features{Timing: shared, Session: shared}, "", ""},
	} {
		clashes := tt.of.Clashes()
		want := strings.Split(tt.clashes, ", ")
		if tt.clashes == "" {
			want = nil
		}
		if len(clashes) != len(want) {
			t.Errorf("%+v: %v, want %v", tt.of, clashes, want)
			continue
		}
		for i, c := range clashes {
			field, problem, _ := strings.Cut(want[i], ": ")
			if c.Field != field || !strings.Contains(c.Problem, problem) || c.Hint == "" {
				t.Errorf("%+v: %+v, want %s", tt.of, c, want[i])
			}
		}
		if got := tt.of.SessionObstacle(); got == "" != (tt.obstacle == "") || !strings.Contains(got, tt.obstacle) {
			t.Errorf("%+v: obstacle %q, want %q", tt.of, got, tt.obstacle)
		}
	}
}
