package app

import (
	"errors"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

func TestStableOf(t *testing.T) {
	member := func(revision, preference string) status.Member {
		return status.Member{Revision: revision, Preference: preference, State: status.Live}
	}
	led := func(revision string) status.Election { return status.Election{State: status.Led, Revision: revision} }
	for _, tt := range []struct {
		name   string
		report status.Report
		want   string // empty if the stable revision cannot be found
	}{
		{"the default", status.Report{Members: []status.Member{member("a", "a"), member("c", "a")}, Elections: []status.Election{led("c"), led("b")}}, "a"},
		{"the default beside pins", status.Report{Members: []status.Member{member("a", "a +00aa"), member("c", "a +00aa")}}, "a"},
		{"a default that nobody has", status.Report{Members: []status.Member{member("b", "y"), member("c", "y")}, Elections: []status.Election{led("b")}}, "b"},
		{"a default that is blocked", status.Report{Members: []status.Member{member("x", "x"), member("c", "x")}, Elections: []status.Election{led("b")}}, "b"},
		{"a default that is blocked, and leads", status.Report{Members: []status.Member{member("x", "x"), member("c", "x")}, Elections: []status.Election{led("b"), led("x")}}, "b"},
		{"no default", status.Report{Members: []status.Member{member("b", "(unset)"), member("c", "(unset)")}, Elections: []status.Election{led("b"), led("c")}}, "b"},
		{"members that differ", status.Report{Members: []status.Member{member("a", "a"), member("c", "c")}, Elections: []status.Election{led("a")}}, "a"},
		{"the default is the canary", status.Report{Members: []status.Member{member("c", "c"), member("a", "c")}, Elections: []status.Election{led("c")}}, ""},
		{"the default is the canary, and another leads", status.Report{Members: []status.Member{member("c", "c"), member("a", "c")}, Elections: []status.Election{led("c"), led("a")}}, ""},
		{"several", status.Report{Elections: []status.Election{led("a"), led("b")}}, ""},
		{"nothing", status.Report{}, ""},
	} {
		got, err := stableOf(tt.report, tt.report.Elections, "c", "x")
		var wrong *usageError
		if got != tt.want || (err == nil) != (tt.want != "") || err != nil && !errors.As(err, &wrong) {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestUndoing(t *testing.T) {
	ended := func(stable, canary string, how rollout.Phase) rollout.Ended {
		return rollout.Ended{Stable: stable, Canary: canary, How: how}
	}
	past := []rollout.Ended{ended("a", "b", rollout.Complete), ended("b", "c", rollout.Complete), ended("c", "d", rollout.RolledBack)}
	spec, err := undoing(rollout.Plan{History: past})
	if err != nil || spec.Stable != "c" || spec.Canary != "b" || spec.OnFailure != rollout.HoldOn || len(spec.Steps) != 1 || spec.Steps[0].SetWeight != 100 {
		t.Errorf("%+v, %v", spec, err)
	}
	for _, history := range [][]rollout.Ended{nil, past[2:]} {
		if _, err := undoing(rollout.Plan{History: history}); !errors.Is(err, errNothingToUndo) {
			t.Errorf("%v: %v", history, err)
		}
	}
}

// TestLeaseDuration checks which lease duration of the sessions decides how long a rollout waits for
// elections.
func TestLeaseDuration(t *testing.T) {
	live := func(d time.Duration) status.Member { return status.Member{State: status.Live, Duration: d} }
	dead := status.Member{State: status.Stale, Duration: time.Hour}
	for want, members := range map[time.Duration][]status.Member{
		usualLease: {dead, live(0)}, 5 * time.Second: {live(5 * time.Second), dead}, 137 * time.Second: {live(5 * time.Second), live(137 * time.Second)},
	} {
		if got := leaseDuration(status.Report{Members: members}); got != want {
			t.Errorf("%v: %v, want %v", members, got, want)
		}
	}
}
