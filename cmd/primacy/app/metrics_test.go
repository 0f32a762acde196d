package app

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// shown is what a collector shows, one series a line.
func shown(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.Metric {
			fmt.Fprint(&b, f.GetName())
			for _, l := range m.Label {
				fmt.Fprint(&b, " ", l.GetValue())
			}
			fmt.Fprintf(&b, " %g\n", m.GetGauge().GetValue()+m.GetCounter().GetValue())
		}
	}
	return b.String()
}

func TestReloadsAreCounted(t *testing.T) {
	var counts reloads
	const none = "primacy_reload_refused 0\nprimacy_reloads_total refused 0\nprimacy_reloads_total taken 0\n"
	if got := shown(t, &counts); got != none {
		t.Errorf("got\n%s", got)
	}
	r := &reloader{counts: &counts, log: zap.NewNop()}
	r.refuse(errors.New("no"))
	if got := shown(t, &counts); got != "primacy_reload_refused 1\nprimacy_reloads_total refused 1\nprimacy_reloads_total taken 0\n" {
		t.Errorf("got\n%s", got)
	}
	counts.took()
	if got := shown(t, &counts); !strings.HasPrefix(got, "primacy_reload_refused 0\nprimacy_reload_timestamp_seconds ") || !strings.Contains(got, "total taken 1\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestRolloutIsShown(t *testing.T) {
	sight := steering.Sight{}
	c := rolloutMetrics{func() (steering.Sight, <-chan struct{}) { return sight, nil }}
	if got := shown(t, c); got != "" {
		t.Errorf("without a plan:\n%s", got)
	}
	spec := rollout.Spec{UID: "u", Stable: "a", Canary: "b"}
	sight.Plan = &rollout.Plan{Rollout: &spec}
	if got := shown(t, c); got != "primacy_rollout_phase Pending 1\n" {
		t.Errorf("before it began:\n%s", got)
	}
	sight.Plan.Status = &rollout.Status{UID: "u", Stable: "a", Canary: "b", Phase: rollout.Degraded, Step: 2, Elections: 9, Moved: 4, Failures: make([]rollout.Failure, 3), StepStarted: rollout.Time{Time: time.Now()}}
	want := "primacy_rollout_elections 9\nprimacy_rollout_failures 3\nprimacy_rollout_moved_elections 4\nprimacy_rollout_phase Degraded 1\nprimacy_rollout_step 2\n"
	if got := shown(t, c); got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestFiguresOutliveElections checks that the sums of runners do not fall when an election goes.
func TestFiguresOutliveElections(t *testing.T) {
	var f figures
	of := runners.NewFigures("e")
	runners.Supervise([]runners.Child{{Name: "r", Kind: "func"}}, runners.Supervision{Figures: of})
	f.add("e", of)
	if got := f.Earlier(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	f.add("e", runners.NewFigures("e")) // exchanged
	f.remove("e")
	f.remove("e")
	got := f.Earlier()
	if len(got) != 1 || got[0].Kind != "func" || got[0].Starts != 0 || !maps.Equal(got[0].Failures, map[runners.Failure]int{}) {
		t.Errorf("%v", got)
	}
}
