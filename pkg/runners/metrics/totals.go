package metrics

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/primacy-dev/primacy/pkg/runners"
)

// Counted is a source that also knows what the runners of earlier elections did. Without it, the counters of Totals
// fall when an election goes.
type Counted interface {
	Source
	// Earlier returns the sums for elections that are gone, one for each kind.
	Earlier() []runners.Figure
}

// Sums reads the figures of its source at each scrape, and sums them by kind.
type Sums struct{ source Source }

var _ prometheus.Collector = (*Sums)(nil)

// Totals returns the collector for all runners of a kind together, in the place of that of Of.
func Totals(source Source) *Sums { return &Sums{source} }

func sumDesc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("primacy_runners_"+name, help, append([]string{"kind"}, more...), nil)
}

var (
	allRunning  = sumDesc("running", "Runners that run.")
	allWaiting  = sumDesc("waiting", "Runners that wait before they are run again.")
	allStarts   = sumDesc("starts_total", "Runs that were begun.")
	allRestarts = sumDesc("restarts_total", "Runs that were begun again in the same term after a failure, or again at all for work that always runs.")
	allFailures = sumDesc("failures_total", "Runs that ended before they were told to, by the reason: returned (without an error), error, panic, deadline (the term was not extended), memory (the kernel killed it, since no memory was left for it).", "reason")
)

// Describe implements prometheus.Collector.
func (s *Sums) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{allRunning, allWaiting, allStarts, allRestarts, allFailures} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Sums) Collect(to chan<- prometheus.Metric) {
	type sum struct {
		runners.Figure
		running, waiting int
	}
	sums := map[string]*sum{}
	add := func(f runners.Figure) {
		of := sums[f.Kind]
		if of == nil {
			of = &sum{Figure: runners.Figure{Kind: f.Kind, Failures: map[runners.Failure]int{}}}
			sums[f.Kind] = of
		}
		of.Add(f)
		if f.Running {
			of.running++
		}
		if f.RestartWait > 0 {
			of.waiting++
		}
	}
	if counted, is := s.source.(Counted); is {
		for _, f := range counted.Earlier() {
			add(f)
		}
	}
	for _, figures := range s.source.Figures() {
		for _, f := range figures.Read() {
			add(f)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(sums)) {
		of := sums[kind]
		show := func(d *prometheus.Desc, t prometheus.ValueType, v int, more ...string) {
			to <- prometheus.MustNewConstMetric(d, t, float64(v), append([]string{kind}, more...)...)
		}
		show(allRunning, prometheus.GaugeValue, of.running)
		show(allWaiting, prometheus.GaugeValue, of.waiting)
		show(allStarts, prometheus.CounterValue, of.Starts)
		show(allRestarts, prometheus.CounterValue, of.Restarts)
		for _, r := range reasons {
			show(allFailures, prometheus.CounterValue, of.Failures[r], string(r))
		}
	}
}
