package leaderelection

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestWait checks for how long a claim waits for an elector of client-go: until the latest instant at which its work may end.
func TestWait(t *testing.T) {
	for _, tt := range []struct {
		renewDeadline, retryPeriod time.Duration
		releases                   bool
		want                       time.Duration
	}{
		{10 * time.Second, 2 * time.Second, true, 32 * time.Second},
		{10 * time.Second, 2 * time.Second, false, 22 * time.Second},
		{100 * time.Millisecond, 10 * time.Millisecond, true, record.LeastForeignWait},
	} {
		c := LeaderElectionConfig{RenewDeadline: tt.renewDeadline, RetryPeriod: tt.retryPeriod, ReleaseOnCancel: tt.releases}
		if got := c.wait(); got != tt.want {
			t.Errorf("renewDeadline %v, retryPeriod %v, ReleaseOnCancel %v: waits %v, want %v", tt.renewDeadline, tt.retryPeriod, tt.releases, got, tt.want)
		}
	}
}
