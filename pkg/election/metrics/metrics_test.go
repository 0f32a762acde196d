package metrics_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/metrics"
)

// scrape returns what a registry shows of single elections, one metric a line.
func scrape(t *testing.T, r prometheus.Gatherer) string {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "primacy_election_") {
			continue
		}
		for _, m := range f.Metric {
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			fmt.Fprintf(&b, "%s{%s} %g\n", strings.TrimPrefix(f.GetName(), "primacy_election_"), m.Label[0].GetValue(), value)
		}
	}
	return b.String()
}

// TestTrueAtEveryMoment checks that every metric is true at the time of the scrape, even if nothing has
// happened since the last one.
func TestTrueAtEveryMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := clocktest.Bubble{}
		store := memory.New(clock).Store()
		m, err := election.NewManager(election.Config{
			Group: "edge", Host: "m1", Member: election.Member{Revision: "r"}, Locks: store, Clock: clock,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range []election.Spec{
			{Name: "open", Range: true, Outage: machine.Outage{Mode: machine.OutageFailOpen}},
			{Name: "stop"},
		} {
			if _, err := m.Add(spec, nil); err != nil {
				t.Fatal(err)
			}
		}
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(metrics.Of(m))
		has := func(want ...string) {
			t.Helper()
			got := scrape(t, registry)
			for _, w := range want {
				if unwanted, not := strings.CutPrefix(w, "!"); not == strings.Contains(got, unwanted) {
					t.Errorf("want %q in\n%s", w, got)
				}
			}
		}
		has("leading{open} 0", "leading{stop} 0", "terms_total{open} 0", "!since_renewal_seconds", "!range_")
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()
		time.Sleep(40 * time.Second)
		synctest.Wait()
		has("leading{open} 1", "leading{stop} 1", "jeopardy{stop} 0", "failing_open{open} 0", "terms_total{stop} 1",
			"since_renewal_seconds{stop}", "range_end_timestamp_seconds{open}", "!range_end_timestamp_seconds{stop}")
		for _, op := range []memory.Op{memory.Put, memory.Get} {
			store.On(op, memory.Reject(lock.ErrUnknown))
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		has("leading{open} 1", "leading{stop} 0", "jeopardy{open} 1", "failing_open{open} 1", "failing_open{stop} 0", "deadline_seconds{open}", "!deadline_seconds{stop}",
			fmt.Sprintf("range_end_timestamp_seconds{open} %g", float64(time.Now().Unix())))
		store.Heal()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		has("leading{open} 1", "jeopardy{open} 0", "failing_open{open} 0", "terms_total{open} 1")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		has("!leading")
	})
}
