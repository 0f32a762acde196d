package app

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// TestStartWarnsOfACanaryThatLeadsNothing checks that the preview of a rollout says it if no member of the canary could lead an
// election that the rollout moves. The controller's own election and pinned elections do not count.
func TestStartWarnsOfACanaryThatLeadsNothing(t *testing.T) {
	const own = "rollout-edge"
	elections := func(change func(map[string]*rollout.Election)) (all []rollout.Election) {
		by := map[string]*rollout.Election{}
		for _, name := range []string{own, "dns", "web"} {
			by[name] = &rollout.Election{Name: name, Holder: "a-0_00000001", Revision: "a"}
		}
		by[own].Canary = "b-0_00000002"
		change(by)
		for _, e := range by {
			all = append(all, *e)
		}
		return all
	}
	for what, tt := range map[string]struct {
		change func(map[string]*rollout.Election)
		warns  bool
	}{
		"ready for its own election alone": {func(map[string]*rollout.Election) {}, true},
		"ready for one":                    {func(by map[string]*rollout.Election) { by["web"].Canary = "b-0_00000002" }, false},
		"leads one":                        {func(by map[string]*rollout.Election) { by["web"].Revision = "b" }, false},
		"leads a pinned one":               {func(by map[string]*rollout.Election) { by["web"].Revision, by["web"].Pinned = "b", true }, true},
		"nothing moves": {func(by map[string]*rollout.Election) {
			by["web"].Pinned, by["dns"].Follows = true, rollout.Ignores
		}, false},
	} {
		plan := planAt(rollout.Progressing, 1)
		spec := plan.Rollout.WithDefaults()
		spec.StartedAt, spec.AcquireTimeout = rollout.At(noon), time.Minute
		a, err := analyse(spec, rollout.Seen{Own: own, Elections: elections(tt.change)})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(a.Notes, func(n string) bool { return strings.Contains(n, "no member of b could lead any") }); got != tt.warns {
			t.Errorf("%s: notes %q", what, a.Notes)
		}
	}
}
