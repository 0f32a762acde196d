package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/status"
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

// TestUninstallWaitsNoYear checks that uninstall waits for the term of a Lease that a session renewed, not for the year that the
// Lease states, although no row of a report shows that Lease.
func TestUninstallWaitsNoYear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		realm, _ := leftBehind(t)
		u := uninstallCommand{bySession: map[status.Ref]time.Duration{}}
		u.realm = status.Realm{Leases: realm.Store()}
		e := realm.Read("e0")
		l := coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "e0", Labels: map[string]string{lock.ManagedByLabel: lock.ManagedBy}},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &e.Record.Holder, LeaseDurationSeconds: new(int32(e.Record.Duration / time.Second))},
		}
		for range 2 { // the second call finds it in bySession
			var found uninstallation
			if err := u.addLease(t.Context(), &found, ownedObject{Kind: status.Lease}, l); err != nil || len(found.Objects) != 1 || found.Objects[0].lasts != 15*time.Second {
				t.Errorf("got %+v: %v", found, err)
			}
		}
	})
}
