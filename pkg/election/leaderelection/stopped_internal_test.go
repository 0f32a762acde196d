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

// TestWorkThatEndsInOnStoppedLeading checks that the lock is held until OnStoppedLeading has returned unless ReleaseOnCancel
// says that no work goes on: many programs end their work only there. It is released before Run returns.
func TestWorkThatEndsInOnStoppedLeading(t *testing.T) {
	for name, release := range map[string]func(*LeaderElectionConfig){
		"no release on cancel": func(*LeaderElectionConfig) {},
		"release on cancel":    func(c *LeaderElectionConfig) { c.ReleaseOnCancel = true },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			realm := memory.New(clock.Boottime())
			holder := func() string { return realm.Read("a").Record.Holder }
			stopped := 0
			lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
			c := LeaderElectionConfig{
				Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
				Callbacks: LeaderCallbacks{
					OnStartedLeading: func(ctx context.Context) {
						cancel()
						<-ctx.Done()
					},
				},
			}
			release(&c)
			c.Callbacks.OnStoppedLeading = func() {
				stopped++
				if at := holder(); (at == "") != c.ReleaseOnCancel {
					t.Errorf("the holder is %q", at)
				}
			}
			le := &LeaderElector{config: c, metric: newMetric(), settings: &settings{
				lock: lock, names: lease.NewNames("m", "m"),
				config: election.Config{
					Group: group, Host: "m", Member: election.Member{Revision: record.DefaultRevision}, Timing: c.timing(), Log: zap.NewNop(),
				},
				spec: election.Spec{Name: "a", Locks: realm.Store(), Bootstrap: election.BootstrapImmediate},
			}}
			le.Run(ctx)
			if at := holder(); stopped != 1 || at != "" {
				t.Errorf("OnStoppedLeading was called %d times, and after Run the holder is %q", stopped, at)
			}
		})
	}
}
