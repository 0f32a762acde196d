package leaderelection

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestCheckDuringOnStoppedLeading checks that an elector passes its check while OnStoppedLeading runs, since it leads no
// more. So does client-go's elector.
func TestCheckDuringOnStoppedLeading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var le *LeaderElector
	checked := false
	lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
	c := LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				cancel()
				<-ctx.Done()
			},
			OnStoppedLeading: func() {
				checked = true
				if err := le.Check(0); err != nil {
					t.Error(err)
				}
			},
		},
	}
	le = &LeaderElector{config: c, metric: newMetric(), settings: &settings{
		lock: lock, names: lease.NewNames("m", "m"),
		config: election.Config{
			Group: group, Host: "m", Member: election.Member{Revision: record.DefaultRevision}, Timing: c.timing(), Log: zap.NewNop(),
		},
		spec: election.Spec{Name: "a", Locks: memory.New(clock.Boottime()).Store(), Bootstrap: election.BootstrapImmediate},
	}}
	if le.Run(ctx); !checked || le.Check(0) != nil {
		t.Errorf("OnStoppedLeading was called: %v; after Run: %v", checked, le.Check(0))
	}
}
