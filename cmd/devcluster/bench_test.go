package main

import (
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// BenchmarkLeaseUpdate measures one client's conditional writes, one after the
// other: the latency of the server for an election.
func BenchmarkLeaseUpdate(b *testing.B) {
	for _, fsync := range []string{"true", "false"} {
		b.Run("fsync="+fsync, func(b *testing.B) {
			s := start(b, stdinPipe, "--fsync="+fsync)
			leases := client(b, s.kubeconfig).CoordinationV1().Leases("default")
			lease, err := leases.Create(b.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "election"}}, metav1.CreateOptions{})
			noError(b, err)
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(begin))
				lease, err = leases.Update(b.Context(), lease, metav1.UpdateOptions{})
				noError(b, err)
				took = append(took, time.Since(begin))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
