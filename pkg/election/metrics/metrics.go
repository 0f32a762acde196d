// Package metrics exports the elections of a manager to Prometheus.
//
//	registry.MustRegister(metrics.Of(manager))
//
// A Collector reads the values at each scrape, so they are true at that moment: a scrape shows
// at once that a term lapsed or fails open, without waiting for an event.
//
// The package starts no goroutine. A Collector may be used from any.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/primacy-dev/primacy/pkg/election"
)

// Source is a manager, or another source of elections.
type Source interface {
	// Statuses returns the Status of each present election.
	Statuses() []*election.Status
}

// Collector reads the elections of its source at each scrape.
type Collector struct{ source Source }

var _ prometheus.Collector = (*Collector)(nil)

// Of makes the collector of a source's elections; each metric has the label `election`.
func Of(source Source) *Collector { return &Collector{source: source} }

func desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("primacy_election_"+name, help, []string{"election"}, nil)
}

var (
	leading    = desc("leading", "1 while this member leads: a term is on, valid, and not being stopped.")
	jeopardy   = desc("jeopardy", "1 while this member leads but its renewals fail, and half of the outage that a term survives has passed.")
	failopen   = desc("failing_open", "1 while this member leads only because of outage: failopen, so that another may lead as well.")
	since      = desc("since_renewal_seconds", "Time since the last committed renewal of the present term was sent; only while this member leads.")
	terms      = desc("terms_total", "Terms that this member has begun.")
	token      = desc("token", "Token of this member's present or last term.")
	rangeStart = desc("range_start_timestamp_seconds", "Start of the present range; only while this member leads an election with ranges.")
	rangeEnd   = desc("range_end_timestamp_seconds", "End of the present range; only while this member leads an election with ranges.")
)

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{leading, jeopardy, failopen, since, terms, token, rangeStart, rangeEnd} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.source.Statuses() {
		gauge := func(d *prometheus.Desc, v float64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, s.Election())
		}
		gauge(leading, number(s.IsLeader()))
		gauge(jeopardy, number(s.InJeopardy()))
		gauge(failopen, number(s.FailingOpen()))
		gauge(token, float64(s.Token()))
		to <- prometheus.MustNewConstMetric(terms, prometheus.CounterValue, float64(s.Cycle()), s.Election())
		if d, ok := s.SinceRenewal(); ok {
			gauge(since, d.Seconds())
		}
		if start, end, ok := s.Range(); ok {
			gauge(rangeStart, unix(start))
			gauge(rangeEnd, unix(end))
		}
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
