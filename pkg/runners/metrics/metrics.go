// Package metrics shows the runners of elections to Prometheus.
//
//	registry.MustRegister(metrics.Of(source))
//	registry.MustRegister(metrics.Totals(source)) // for very many elections
//
// Values are those at the moment of a scrape. The package starts no goroutine. Any goroutine may use
// a Collector.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/primacy-dev/primacy/pkg/runners"
)

// Source has the figures of runners.
type Source interface {
	// Figures returns the Figures of the present elections, each election's once.
	Figures() []*runners.Figures
}

// Collector reads the figures of its source at each scrape.
type Collector struct{ source Source }

var _ prometheus.Collector = (*Collector)(nil)

// Of returns the collector for a source's runners. Each metric has the labels `election`, `runner`
// and `kind`.
func Of(source Source) *Collector { return &Collector{source: source} }

func desc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("primacy_runner_"+name, help, append([]string{"election", "runner", "kind"}, more...), nil)
}

var (
	running     = desc("running", "1 while the runner runs.")
	starts      = desc("starts_total", "Runs that were begun.")
	restarts    = desc("restarts_total", "Runs that were begun again in the same term after a failure, or again at all for work that always runs.")
	failures    = desc("failures_total", "Runs that ended before they were told to, by the reason: returned (without an error), error, panic, deadline (the term was not extended), memory (the kernel killed it, since no memory was left for it).", "reason")
	restartWait = desc("restart_wait_seconds", "How long it waits at present before it is run again; 0 while it does not wait.")
	lastStop    = desc("last_stop_seconds", "How long its last stop took, from when it was told to; only once it was stopped.")
)

// reasons are all reasons, so that each counter begins at zero.
var reasons = []runners.Failure{runners.FailureReturned, runners.FailureError, runners.FailurePanic, runners.FailureDeadline, runners.FailureMemory}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{running, starts, restarts, failures, restartWait, lastStop} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, figures := range c.source.Figures() {
		for _, f := range figures.Read() {
			show := func(d *prometheus.Desc, t prometheus.ValueType, v float64, more ...string) {
				to <- prometheus.MustNewConstMetric(d, t, v, append([]string{f.Election, f.Runner, f.Kind}, more...)...)
			}
			on := 0.0
			if f.Running {
				on = 1
			}
			show(running, prometheus.GaugeValue, on)
			show(starts, prometheus.CounterValue, float64(f.Starts))
			show(restarts, prometheus.CounterValue, float64(f.Restarts))
			for _, r := range reasons {
				show(failures, prometheus.CounterValue, float64(f.Failures[r]), string(r))
			}
			show(restartWait, prometheus.GaugeValue, f.RestartWait.Seconds())
			if f.LastStop > 0 {
				show(lastStop, prometheus.GaugeValue, f.LastStop.Seconds())
			}
		}
	}
}
