package lease

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestForeignLock checks that a store that keeps keys, and one that does not, read and take a Lease that
// Istio wrote.
func TestForeignLock(t *testing.T) {
	r := newRealm(t)
	const istio = `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"istio-leader","annotations":{"leader.istio.io/holder-key":"^default"}},
		"spec":{"holderIdentity":"istiod-7b9c-x2x4p","leaseDurationSeconds":30,"acquireTime":"2026-11-20T08:58:30.123456Z","renewTime":"2026-11-20T08:58:45.654321Z","leaseTransitions":4}}`
	err := r.Admin.RESTClient().Post().Namespace(r.Namespace).Resource("leases").SetHeader("Content-Type", "application/json").Body([]byte(istio)).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	take := func(s lock.Store, read, write record.Key, stands string) {
		t.Helper()
		e, err := s.Get(t.Context(), "istio-leader")
		if err != nil || e.Absent() {
			t.Fatalf("got %+v, %v", e, err)
		}
		if e.Record.HolderKey != read || e.Record.Unreadable != "" {
			t.Errorf("read %+v, want the key %q", e.Record, read)
		}
		next := record.Record{Holder: "edge-0_0a1b2c3d", HolderKey: write, Duration: 15 * time.Second, Transitions: e.Record.Transitions + 1, Rest: e.Record.Rest}
		if _, err := s.Put(t.Context(), "istio-leader", next, e.Version); err != nil {
			t.Fatal(err)
		}
		l, err := r.Get("istio-leader")
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(l.Annotations)
		if err != nil || string(got) != stands {
			t.Errorf("annotations stand as %s, %v; want %s", got, err, stands)
		}
	}
	take(In(r.Client, r.Namespace), "", "1-9-0", `{"leader.istio.io/holder-key":"^default"}`)
	take(In(r.Client, r.Namespace, HolderKeys()), "^default", "1-9-0", `{"leader.istio.io/holder-key":"1-9-0"}`)
	take(In(r.Client, r.Namespace, HolderKeys()), "1-9-0", "", `null`)
}
