package configmap

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

const leaderKey = "control-plane.alpha.kubernetes.io/leader"

func annotated(leader string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Annotations: map[string]string{leaderKey: leader}}
}

// create stores a ConfigMap as a stranger would.
func (r *realm) create(m *corev1.ConfigMap) *corev1.ConfigMap {
	r.T.Helper()
	var created corev1.ConfigMap
	if err := r.Admin.RESTClient().Post().Namespace(r.Namespace).Resource("configmaps").Body(m).Do(r.T.Context()).Into(&created); err != nil {
		r.T.Fatal(err)
	}
	return &created
}

func (r *realm) mustGet(s lock.Store, name string) lock.Entry {
	r.T.Helper()
	e, err := s.Get(r.T.Context(), name)
	if err != nil || e.Absent() {
		r.T.Fatalf("get: %+v, %v", e, err)
	}
	return e
}

// TestForeignLock lets Istio and client-go hold an election in turn, with their records byte for byte as
// they write them; then we hold it, then they again.
func TestForeignLock(t *testing.T) {
	r := newRealm(t)
	s := r.Store()
	const name = "istio-leader"
	const istio = `{"holderIdentity":"istiod-7b9c-x2x4p","holderKey":"^default","leaseDurationSeconds":30,"acquireTime":"2026-11-20T08:58:30Z","renewTime":"2026-11-20T08:58:45Z","leaderTransitions":4}`
	m := &corev1.ConfigMap{ObjectMeta: annotated(istio)}
	m.Name = name
	r.create(m)
	e := r.mustGet(s, name)
	want := record.Record{
		Holder: "istiod-7b9c-x2x4p", HolderKey: "^default", Duration: 30 * time.Second, Transitions: 4,
		Acquired: acquired, Renewed: acquired.Add(15 * time.Second),
	}
	if !reflect.DeepEqual(*e.Record, want) {
		t.Errorf("Istio's record is read as %+v, want %+v", *e.Record, want)
	}
	claiming := record.Record{
		Holder: "edge-0_0a1b2c3d", HolderKey: "1-9-0", Duration: 15 * time.Second, Transitions: 5,
		Acquired: renewed, Renewed: renewed.Add(500 * time.Millisecond), Token: 48211,
		Mark:  &record.Mark{Identity: "edge-0_0a1b2c3d", Transitions: 5, Key: "1-9-0", Beat: 1, Duration: 15 * time.Second, Renewal: record.RenewalRecord},
		Claim: &record.Claim{Identity: e.Record.Holder, Transitions: e.Record.Transitions, Duration: e.Record.Duration},
		Rest:  e.Record.Rest,
	}
	v, err := s.Put(t.Context(), name, claiming, e.Version)
	if err != nil {
		t.Fatal(err)
	}
	now, err := r.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	const ours = `{"holderIdentity":"edge-0_0a1b2c3d","holderKey":"1-9-0","leaseDurationSeconds":15,"acquireTime":"2026-11-20T08:59:01Z","renewTime":"2026-11-20T08:59:01Z","leaderTransitions":5}`
	if now.Annotations[leaderKey] != ours {
		t.Errorf("our record stands as %s\nwant %s", now.Annotations[leaderKey], ours)
	}
	if got, want := now.Annotations["primacy.dev/claim"], `{"identity":"istiod-7b9c-x2x4p","transitions":4,"durationSeconds":30}`; got != want {
		t.Errorf("our claim stands as %s\nwant %s", got, want)
	}
	var read resourcelock.LeaderElectionRecord
	if err := json.Unmarshal([]byte(now.Annotations[leaderKey]), &read); err != nil || read.HolderIdentity != "edge-0_0a1b2c3d" ||
		read.LeaseDurationSeconds != 15 || !read.RenewTime.Time.Equal(renewed) || read.LeaderTransitions != 5 {
		t.Errorf("client-go reads it as %+v, %v", read, err)
	}

	// An elector of client-go takes the lock back, without a key; our annotations stay beside its record.
	const clientGo = `{"holderIdentity":"scheduler-1_6f","leaseDurationSeconds":15,"acquireTime":"2026-11-20T08:58:30Z","renewTime":"2026-11-20T08:58:45Z","leaderTransitions":6}`
	now.Annotations[leaderKey] = clientGo
	if err := r.Admin.RESTClient().Put().Namespace(r.Namespace).Resource("configmaps").Name(name).Body(now).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	e = r.mustGet(s, name)
	if e.Record.Holder != "scheduler-1_6f" || e.Record.HolderKey != "" || e.Record.Bound() || e.Record.Claim == nil || e.Record.Unreadable != "" {
		t.Errorf("client-go's record is read as %+v", e.Record)
	}
	if _, err := s.Put(t.Context(), name, claiming, v); !errors.Is(err, lock.ErrConflict) {
		t.Errorf("over a stolen lock: %v", err)
	}
}

// TestEmptyLock checks that everybody else sees a lock that we create empty as free.
func TestEmptyLock(t *testing.T) {
	r := newRealm(t)
	s := r.Store()
	if _, err := s.Put(t.Context(), "a", record.Record{Group: "edge", Election: "a"}, record.Version{}); err != nil {
		t.Fatal(err)
	}
	m, err := r.Get("a")
	if err != nil {
		t.Fatal(err)
	}
	if l, found := m.Annotations[leaderKey]; found || len(m.Data) > 0 {
		t.Errorf("stands as %q, %v", l, m.Data)
	}
	if e := r.mustGet(s, "a"); !e.Record.Untouched() || !e.Record.Renewed.IsZero() {
		t.Errorf("read as %+v", e.Record)
	}
}

// TestBrokenLock checks that we repair a leader annotation that stops everybody else, and nothing else.
func TestBrokenLock(t *testing.T) {
	r := newRealm(t)
	s := r.Store()
	m := &corev1.ConfigMap{ObjectMeta: annotated(`{"holderIdentity":"istiod-7b","leaseDurationSeconds":`), Data: map[string]string{"k": "v"}}
	m.Name = "a"
	r.create(m)
	e := r.mustGet(s, "a")
	if e.Record.Unreadable == "" || e.Record.Released() || e.Record.Untouched() {
		t.Fatalf("read as %+v", e.Record)
	}
	if _, err := s.Put(t.Context(), "a", record.Record{Holder: "b", Duration: time.Second, Rest: e.Record.Rest}, e.Version); err != nil {
		t.Fatal(err)
	}
	if e := r.mustGet(s, "a"); e.Record.Unreadable != "" || e.Record.Holder != "b" {
		t.Errorf("repaired to %+v", e.Record)
	}
	if now, err := r.Get("a"); err != nil || now.Data["k"] != "v" {
		t.Errorf("left %+v, %v", now, err)
	}
}
