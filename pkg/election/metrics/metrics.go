// Package metrics exports the elections of a manager to Prometheus.
//
//	registry.MustRegister(metrics.Of(manager))
//
// A Collector reads the values at each scrape, so they are true at that moment: a scrape shows
// at once that a term lapsed or fails open, without waiting for an event. Requests counts requests to the API server.
//
// Each metric has the label `group`, so managers of several groups may share a registry. Managers of one group need Labels
// in which they differ:
//
//	registry.MustRegister(metrics.With(east, metrics.Options{Labels: prometheus.Labels{"cluster": "east"}}))
//	registry.MustRegister(metrics.With(west, metrics.Options{Labels: prometheus.Labels{"cluster": "west"}}))
//
// The package starts no goroutine. A Collector may be used from any.
package metrics

import (
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/primacy-dev/primacy/pkg/election"
)

// Source is a manager, or another source of elections.
type Source interface {
	// Group is the name of the group.
	Group() string
	// Statuses returns the Status of each present election.
	Statuses() []*election.Status
	// Figures returns what the member has counted, and what it sees now.
	Figures() election.Figures
}

// Series says for what a Collector has series.
type Series int

const (
	// PerElection: for each election, and for all together.
	PerElection Series = iota
	// Totals: for all elections together. The number of series does not depend on the number of elections.
	Totals
)

// Options say what a Collector shows.
type Options struct {
	Series Series
	// Labels are constant labels of all metrics, besides `group`.
	Labels prometheus.Labels
}

// Collector reads the elections of its source at each scrape.
type Collector struct {
	source Source
	series Series
	each   perElection
	all    totals
}

var _ prometheus.Collector = (*Collector)(nil)

// Of makes the collector of a source's elections, with series for each election.
func Of(source Source) *Collector { return With(source, Options{}) }

// With makes the collector of a source's elections.
func With(source Source, o Options) *Collector {
	labels := prometheus.Labels{"group": source.Group()}
	maps.Copy(labels, o.Labels)
	return &Collector{source: source, series: o.Series, each: newPerElection(labels), all: newTotals(labels)}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	if c.series == PerElection {
		c.each.describe(to)
	}
	c.all.describe(to)
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	figures := c.source.Figures()
	if c.series == PerElection {
		for _, s := range c.source.Statuses() {
			c.each.collect(to, s, &figures)
		}
	}
	c.all.collect(to, &figures)
}

// perElection are the metrics that each election has, with its name in the label `election`.
type perElection struct {
	leading, master, jeopardy, failopen, since, deadline, terms, token, rangeStart, rangeEnd, leaderless, notPreferred *prometheus.Desc
}

func newPerElection(labels prometheus.Labels) perElection {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("primacy_election_"+name, help, []string{"election"}, labels)
	}
	return perElection{
		leading:      desc("leading", "1 while this member leads: a term is on, valid, and not being stopped."),
		master:       prometheus.NewDesc("leader_election_master_status", "The same as primacy_election_leading, under the name that client-go's metric has, for dashboards that exist; the label name is the election's.", []string{"name"}, labels),
		jeopardy:     desc("jeopardy", "1 while this member leads but its renewals fail, and half of the outage that a term survives has passed."),
		failopen:     desc("failing_open", "1 while this member leads only because of outage: failopen, so that another may lead as well."),
		since:        desc("since_renewal_seconds", "Time since the last committed renewal of the present term was sent; only while this member leads."),
		deadline:     desc("deadline_seconds", "How long the present term may last without another renewal; only while this member leads."),
		terms:        desc("terms_total", "Terms that this member has begun."),
		token:        desc("token", "Token of this member's present or last term."),
		rangeStart:   desc("range_start_timestamp_seconds", "Start of the present range; only while this member leads an election with ranges."),
		rangeEnd:     desc("range_end_timestamp_seconds", "End of the present range; only while this member leads an election with ranges."),
		leaderless:   desc("leaderless_seconds", "For how long this member has seen nobody lead, or the session of the leader ended, or has seen no sign of life of it; 0 while somebody leads. An elector that is not Primacy leads only where the lock is shared with such."),
		notPreferred: desc("not_preferred", "1 while the election is led, but not by the preferred revision, or not by the member to which it is pinned."),
	}
}

func (d *perElection) describe(to chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{d.leading, d.master, d.jeopardy, d.failopen, d.since, d.deadline, d.terms, d.token, d.rangeStart, d.rangeEnd, d.leaderless, d.notPreferred} {
		to <- one
	}
}

func (d *perElection) collect(to chan<- prometheus.Metric, s *election.Status, f *election.Figures) {
	name := s.Election()
	gauge := func(d *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, name)
	}
	leads := number(s.IsLeader())
	gauge(d.leading, leads)
	gauge(d.master, leads)
	gauge(d.jeopardy, number(s.InJeopardy()))
	gauge(d.failopen, number(s.FailingOpen()))
	gauge(d.token, float64(s.Token()))
	gauge(d.leaderless, f.Leaderless[name].Seconds())
	gauge(d.notPreferred, number(f.NotPreferred[name]))
	to <- prometheus.MustNewConstMetric(d.terms, prometheus.CounterValue, float64(s.Cycle()), name)
	if since, ok := s.SinceRenewal(); ok {
		gauge(d.since, since.Seconds())
	}
	if left, ok := s.UntilDeadline(); ok {
		gauge(d.deadline, left.Seconds())
	}
	if start, end, ok := s.Range(); ok {
		gauge(d.rangeStart, unix(start))
		gauge(d.rangeEnd, unix(end))
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
