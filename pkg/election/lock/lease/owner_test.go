package lease

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestOwnedBy checks that a session belongs to the Pod that lives in it, whatever Pod had the slot
// before, and keeps that owner when another member ends it. Locks have no owner.
func TestOwnedBy(t *testing.T) {
	r := newRealm(t)
	pod := func(name, uid string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(uid)}
	}
	old, young, other := pod("edge-0", "old"), pod("edge-0", "young"), pod("edge-1", "other")
	const slot = "primacy-edge-edge-0-0"
	put := func(host string, owner metav1.OwnerReference, name, holder string, member *record.Member) {
		t.Helper()
		var s lock.Store = In(r.Client, r.Namespace, OwnedBy(host, owner))
		e, err := s.Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		next := record.Record{Holder: holder, Duration: time.Second, Member: member}
		if !e.Absent() {
			next.Rest = e.Record.Rest
		}
		if _, err := s.Put(t.Context(), name, next, e.Version); err != nil {
			t.Fatal(err)
		}
	}
	owned := func(name string, want ...metav1.OwnerReference) {
		t.Helper()
		l, err := r.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(l.OwnerReferences, want) {
			t.Errorf("%s belongs to %v, want %v", name, l.OwnerReferences, want)
		}
	}
	first, second := &record.Member{Identity: "edge-0_00000001"}, &record.Member{Identity: "edge-0_00000002"}
	put("edge-0", old, slot, "edge-0_00000001", first)
	owned(slot, old)
	put("edge-1", other, slot, "", first)
	owned(slot, old)
	put("edge-0", young, slot, "edge-0_00000002", second)
	owned(slot, young)
	put("edge-1", other, slot, "edge-0_00000002", second)
	owned(slot, young)
	// A member that leaves before it has seen its session ends it without what a sight would have carried.
	s := In(r.Client, r.Namespace, OwnedBy("edge-0", young))
	e, err := s.Get(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), slot, record.Record{Duration: time.Second, Member: second}, e.Version); err != nil {
		t.Fatal(err)
	}
	owned(slot, young)
	put("edge-0", young, "ingress-status", "edge-0_00000002", nil)
	owned("ingress-status")
}
