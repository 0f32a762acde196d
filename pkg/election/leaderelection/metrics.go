package leaderelection

import "sync"

// LeaderMetric says which elections this process leads, by the Name of their configuration.
type LeaderMetric interface {
	On(name string)
	Off(name string)
	// SlowpathExercised is never called.
	SlowpathExercised(name string)
}

// MetricsProvider makes the metric of an elector.
type MetricsProvider interface {
	NewLeaderMetric() LeaderMetric
}

var metrics struct {
	sync.Mutex
	provider MetricsProvider
}

// SetProvider sets the provider for electors that are made from now on. Only the first call counts.
func SetProvider(p MetricsProvider) {
	metrics.Lock()
	defer metrics.Unlock()
	if metrics.provider == nil {
		metrics.provider = p
	}
}

// newMetric makes the metric of an elector.
func newMetric() LeaderMetric {
	metrics.Lock()
	defer metrics.Unlock()
	if metrics.provider == nil {
		return unmeasured{}
	}
	return metrics.provider.NewLeaderMetric()
}

// unmeasured is the metric where nobody asked for one.
type unmeasured struct{}

func (unmeasured) On(string)                {}
func (unmeasured) Off(string)               {}
func (unmeasured) SlowpathExercised(string) {}
