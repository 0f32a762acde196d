package app

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// lease returns a Lease of the script's namespace, and the client for it.
func (s *scripts) lease(ts *testscript.TestScript, name string) (*coordinationv1.Lease, coordinationclient.LeaseInterface) {
	client, err := coordinationclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	leases := client.Leases(ts.Getenv("NS"))
	l, err := leases.Get(context.Background(), name, metav1.GetOptions{})
	ts.Check(err)
	return l, leases
}

// befall makes an identity that is no member the holder of a lock.
func (s *scripts) befall(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	l, leases := s.lease(ts, args[0])
	l.Spec.HolderIdentity = new("somebody")
	_, err := leases.Update(context.Background(), l, metav1.UpdateOptions{})
	ts.Check(err)
}

// collect deletes a Lease, as a garbage collector does.
func (s *scripts) collect(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	l, leases := s.lease(ts, args[0])
	ts.Check(leases.Delete(context.Background(), l.Name, metav1.DeleteOptions{}))
}

// lapsed waits until a session was not renewed for as long as it lasts.
func (s *scripts) lapsed(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	l, _ := s.lease(ts, args[0])
	lasts := time.Duration(*l.Spec.LeaseDurationSeconds+1) * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if !clock.Wait(ctx, time.Until(l.Spec.RenewTime.Add(lasts))) {
		ts.Fatalf("session %s has not lapsed", args[0])
	}
}
