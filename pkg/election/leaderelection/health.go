package leaderelection

import (
	"net/http"
	"sync"
	"time"
)

// HealthzAdaptor makes an elector a check of a health handler.
type HealthzAdaptor struct {
	timeout time.Duration

	mu      sync.Mutex
	elector *LeaderElector
}

// NewLeaderHealthzAdaptor makes a HealthzAdaptor that tolerates a lease that is over for up to timeout.
func NewLeaderHealthzAdaptor(timeout time.Duration) *HealthzAdaptor {
	return &HealthzAdaptor{timeout: timeout}
}

// Name is the name of the check.
func (a *HealthzAdaptor) Name() string { return "leaderElection" }

// Check is the elector's Check; nil before SetLeaderElection.
func (a *HealthzAdaptor) Check(*http.Request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.elector == nil {
		return nil
	}
	return a.elector.Check(a.timeout)
}

// SetLeaderElection names the elector to check. RunOrDie calls it.
func (a *HealthzAdaptor) SetLeaderElection(le *LeaderElector) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.elector = le
}
