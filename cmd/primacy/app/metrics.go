package app

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/metrics"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
	runnermetrics "github.com/primacy-dev/primacy/pkg/runners/metrics"
)

// collectors are this member's metrics.
func (m *member) collectors() []prometheus.Collector {
	series, work := metrics.PerElection, prometheus.Collector(runnermetrics.Of(&m.figures))
	if m.process.Configuration.HTTP.Metrics == config.SeriesTotals {
		series, work = metrics.Totals, runnermetrics.Totals(&m.figures)
	}
	all := append(m.standing(),
		metrics.With(movable{m.manager, m.roster}, metrics.Options{Series: series}),
		work,
		freshness("default", m.steering.Default),
		freshness("plan", m.steering.Freshness),
		rolloutMetrics{m.steering.Sight},
		&m.reloads,
	)
	if m.requests != nil {
		all = append(all, m.requests)
	}
	return all
}

// movable are the elections of a manager, of which those of scope: revision always have their preferred revision.
type movable struct {
	*election.Manager
	roster *roster
}

// Figures implements metrics.Source.
func (m movable) Figures() election.Figures {
	f := m.Manager.Figures()
	moved := map[string]bool{}
	specs, _ := m.roster.all()
	for _, spec := range specs {
		moved[spec.Name] = true
	}
	maps.DeleteFunc(f.NotPreferred, func(name string, _ bool) bool { return !moved[name] })
	return f
}

// standing are the metrics of what operators said: whether the group is paused, and this member drained.
func (m *member) standing() []prometheus.Collector {
	plan := func() rollout.Plan {
		if sight, _ := m.steering.Sight(); sight.Plan != nil {
			return sight.Plan.At(m.clock.Wall())
		}
		return rollout.Plan{}
	}
	gauge := func(name, help string, is func() bool) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			if is() {
				return 1
			}
			return 0
		})
	}
	return []prometheus.Collector{
		gauge("primacy_group_paused", "1 while an operator has paused the group, so that nothing moves to a better member.", func() bool { return plan().Standstill != nil }),
		gauge("primacy_member_drained", "1 while an operator keeps this member out of all elections.", func() bool { return plan().DrainedHosts().Has(m.name) }),
	}
}

// freshness is a metric: the age of a source's last value.
func freshness(source string, of func() revisions.Freshness) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "primacy_preferred_revision_age_seconds",
		Help:        "For how long the last value of a source of preferred revisions has been kept because the source cannot be read, or says what cannot be used; 0 while it is followed.",
		ConstLabels: prometheus.Labels{"source": source},
	}, func() float64 { return of().Age.Seconds() })
}

// rolloutMetrics shows the group's rollout.
type rolloutMetrics struct {
	sight func() (steering.Sight, <-chan struct{})
}

var (
	rolloutPhase = prometheus.NewDesc("primacy_rollout_phase", "1 for the phase of the group's rollout; no series without a rollout.", []string{"phase"}, nil)
	rolloutStep  = prometheus.NewDesc("primacy_rollout_step", "The present step of the rollout, the first being 1; only during a rollout.", nil, nil)
	rolloutMoved = prometheus.NewDesc("primacy_rollout_moved_elections", "Elections in reach of the rollout that the canary leads; only during a rollout.", nil, nil)
	rolloutSize  = prometheus.NewDesc("primacy_rollout_elections", "Elections that the rollout moves; only during a rollout.", nil, nil)
	rolloutFails = prometheus.NewDesc("primacy_rollout_failures", "What checks found in the present attempt; only during a rollout.", nil, nil)
	rolloutDescs = []*prometheus.Desc{rolloutPhase, rolloutStep, rolloutMoved, rolloutSize, rolloutFails}
)

// Describe implements prometheus.Collector.
func (rolloutMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range rolloutDescs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (r rolloutMetrics) Collect(to chan<- prometheus.Metric) {
	sight, _ := r.sight()
	if sight.Plan == nil || sight.Plan.Rollout == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	gauge(rolloutPhase, 1, string(sight.Plan.Phase()))
	if s := sight.Plan.Status; s.Of(sight.Plan.Rollout) {
		gauge(rolloutStep, s.Step)
		gauge(rolloutMoved, s.Moved)
		gauge(rolloutSize, s.Elections)
		gauge(rolloutFails, len(s.Failures))
	}
}

// reloads counts what became of changed configurations. Any goroutine may use it.
type reloads struct {
	mu             sync.Mutex
	taken, refused int
	last           time.Time
	// bad: the last one was refused.
	bad bool
}

var (
	reloadsTotal = prometheus.NewDesc("primacy_reloads_total", "Changed configurations that this member took up, or refused.", []string{"outcome"}, nil)
	reloadedAt   = prometheus.NewDesc("primacy_reload_timestamp_seconds", "When the last changed configuration was taken up; only after one was.", nil, nil)
	reloadBad    = prometheus.NewDesc("primacy_reload_refused", "1 while the last changed configuration is refused, and the one before is in force.", nil, nil)
)

// Describe implements prometheus.Collector.
func (*reloads) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{reloadsTotal, reloadedAt, reloadBad} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (r *reloads) Collect(to chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to <- prometheus.MustNewConstMetric(reloadsTotal, prometheus.CounterValue, float64(r.taken), "taken")
	to <- prometheus.MustNewConstMetric(reloadsTotal, prometheus.CounterValue, float64(r.refused), "refused")
	bad := 0.0
	if r.bad {
		bad = 1
	}
	to <- prometheus.MustNewConstMetric(reloadBad, prometheus.GaugeValue, bad)
	if !r.last.IsZero() {
		to <- prometheus.MustNewConstMetric(reloadedAt, prometheus.GaugeValue, float64(r.last.UnixMilli())/1000)
	}
}

// took counts a configuration that was taken up. A nil *reloads counts nothing.
func (r *reloads) took() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken++
	r.last, r.bad = time.Now(), false
}

// refuse counts a configuration that is not taken up.
func (r *reloads) refuse() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused++
	r.bad = true
}
