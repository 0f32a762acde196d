package leaderelection

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// virtual is the clock of a bubble.
type virtual struct{ start time.Time }

func (c virtual) Now() record.Instant { return record.Instant(time.Since(c.start)) + 1 }
func (c virtual) Wall() time.Time     { return time.Now() }

// TestCheckDuringOnStoppedLeading checks that an elector passes its check while OnStoppedLeading runs, however long that
// takes, as client-go's does: it leads no more.
func TestCheckDuringOnStoppedLeading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := virtual{time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		var le *LeaderElector
		checked := 0
		c := LeaderElectionConfig{
			Lock:          &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}},
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
			Callbacks: LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) {
					time.Sleep(time.Minute)
					cancel()
					<-ctx.Done()
				},
				OnStoppedLeading: func() {
					for range 10 {
						if checked++; le.Check(0) != nil {
							t.Errorf("check %d: %v", checked, le.Check(0))
						}
						time.Sleep(10 * time.Second)
					}
				},
			},
		}
		lock, _ := c.Lock.(*resourcelock.LeaseLock)
		le = &LeaderElector{config: c, metric: newMetric(), settings: &settings{
			lock: lock, names: lease.NewNames("m", "m"),
			config: election.Config{
				Group: group, Host: "m", Member: election.Member{Revision: record.DefaultRevision},
				Timing: c.timing(), Log: zap.NewNop(), Clock: clock,
			},
			spec: election.Spec{Name: "a", Locks: memory.New(clock).Store(), Bootstrap: election.BootstrapImmediate},
		}}
		le.Run(ctx)
		if checked != 10 || le.Check(0) != nil {
			t.Errorf("%d checks, and after Run: %v", checked, le.Check(0))
		}
	})
}
