package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/primacy-dev/primacy/pkg/revisions"
)

// freshness is a metric: the age of a source's last value.
func freshness(source string, of func() revisions.Freshness) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "primacy_preferred_revision_age_seconds",
		Help:        "For how long the last value of a source of preferred revisions has been kept because the source cannot be read, or says what cannot be used; 0 while it is followed.",
		ConstLabels: prometheus.Labels{"source": source},
	}, func() float64 { return of().Age.Seconds() })
}
