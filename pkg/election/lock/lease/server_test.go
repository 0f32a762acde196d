package lease

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

var held = record.Record{Holder: "edge-0_0a1b2c3d", Duration: 15 * time.Second, Group: "edge", Election: "a"}

func TestNoNamespace(t *testing.T) {
	cluster := devcluster.Start(t)
	s := In(newClient(t, cluster.Config), "nowhere")
	_, err := s.Put(t.Context(), "a", held, record.Version{})
	if !errors.Is(err, lock.ErrDenied) || !strings.Contains(err.Error(), "namespace nowhere does not exist") {
		t.Errorf("got %v", err)
	}
	_, err = s.Put(t.Context(), "a", held, record.Version{UID: "u", Revision: 1})
	if lock.OutcomeOf(err) != lock.Rejected {
		t.Errorf("an update there: %v", err)
	}
}

// TestPermission checks that a member without permission gets an error, and goes on by itself once it has
// permission.
func TestPermission(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate.UserName = "member"
	s := In(newClient(t, config), namespace)
	if _, err := s.Put(t.Context(), "a", held, record.Version{}); !errors.Is(err, lock.ErrDenied) || !strings.Contains(err.Error(), "member") {
		t.Errorf("put: %v", err)
	}
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, lock.ErrDenied) {
		t.Errorf("get: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	denied := 0
	err := s.Watch(ctx, func(e lock.Event) {
		switch e.Kind {
		case lock.Broken:
			if !errors.Is(e.Err, lock.ErrDenied) {
				t.Errorf("broken by %v", e.Err)
			}
			if denied++; denied == 2 {
				grant(t, cluster, namespace, "member")
			}
		case lock.Resumed:
			cancel()
		}
	})
	if err != nil || denied < 2 || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("Watch returned %v after %d denials", err, denied)
	}
	if _, err := s.Put(t.Context(), "a", held, record.Version{}); err != nil {
		t.Errorf("put with permission: %v", err)
	}
}

// grant gives a user the permissions that a store needs.
func grant(t *testing.T, cluster *devcluster.Cluster, namespace, user string) {
	client, err := rbacclient.NewForConfig(cluster.Config)
	if err != nil {
		t.Error(err)
		return
	}
	meta := metav1.ObjectMeta{Name: "member"}
	_, err = client.Roles(namespace).Create(context.Background(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "watch", "create", "update"},
	}}}, metav1.CreateOptions{})
	if err != nil {
		t.Error(err)
	}
	_, err = client.RoleBindings(namespace).Create(context.Background(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "member"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Error(err)
	}
}

// TestExtraSurvives checks that our writes also preserve what only a Lease has.
func TestExtraSurvives(t *testing.T) {
	r := newRealm(t)
	strategy, preferred := coordinationv1.OldestEmulationVersion, "edge-9"
	foreign := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "a", Name: "a", Namespace: r.Namespace, Finalizers: []string{"example.com/keep"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "edge-0", UID: "p"}},
		},
		Spec: coordinationv1.LeaseSpec{Strategy: &strategy, PreferredHolder: &preferred},
	}
	var created coordinationv1.Lease
	if err := r.Admin.RESTClient().Post().Namespace(r.Namespace).Resource("leases").Body(foreign).Do(t.Context()).Into(&created); err != nil {
		t.Fatal(err)
	}
	s := r.Store()
	e, err := s.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	next := held
	next.Rest = e.Record.Rest
	if _, err := s.Put(t.Context(), "a", next, e.Version); err != nil {
		t.Fatal(err)
	}
	l, err := r.Get("a")
	if err != nil {
		t.Fatal(err)
	}
	if l.GenerateName != "a" || !reflect.DeepEqual(l.Finalizers, foreign.Finalizers) || !reflect.DeepEqual(l.OwnerReferences, foreign.OwnerReferences) {
		t.Errorf("metadata became %+v", l.ObjectMeta)
	}
	// A server without the feature drops these two when the Lease is created.
	if !reflect.DeepEqual(l.Spec.Strategy, created.Spec.Strategy) || !reflect.DeepEqual(l.Spec.PreferredHolder, created.Spec.PreferredHolder) {
		t.Errorf("spec became %+v", l.Spec)
	}
	if len(created.ManagedFields) == 0 || len(l.ManagedFields) == 0 {
		t.Error("the server's account of owners is gone")
	}
}

// TestStrategyIsKept checks the three places through which a strategy passes. It needs no server, since
// servers may lack the feature.
func TestStrategyIsKept(t *testing.T) {
	strategy, preferred := coordinationv1.OldestEmulationVersion, "edge-9"
	o := object(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{Strategy: &strategy, PreferredHolder: &preferred}})
	l, err := lease("edge-system", "a", record.Version{}, o)
	if err != nil {
		t.Fatal(err)
	}
	if value(l.Spec.Strategy) != strategy || value(l.Spec.PreferredHolder) != preferred {
		t.Errorf("became %+v", l.Spec)
	}
	o.Extra = "of another store"
	if _, err := lease("edge-system", "a", record.Version{}, o); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// TestManyLeases checks that a list of several pages is one consistent list, and the watch continues from
// it.
func TestManyLeases(t *testing.T) {
	const n, writers = 2*pageSize + 100, 8
	r := newRealm(t)
	s := r.Store()
	versions := make([]record.Version, n)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := w; i < n; i += writers {
				v, err := s.Put(t.Context(), fmt.Sprintf("lock-%d", i), held, record.Version{})
				if err != nil {
					t.Error(err)
					return
				}
				versions[i] = v
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	listed := map[string]record.Version{}
	var changed lock.Entry
	err := s.Watch(ctx, func(e lock.Event) {
		switch e.Kind {
		case lock.Listed:
			for _, e := range e.List {
				listed[e.Name] = e.Version
			}
		case lock.Resumed:
			next := held
			next.Transitions = 1
			var err error
			if versions[0], err = s.Put(ctx, "lock-0", next, versions[0]); err != nil {
				t.Error(err)
				cancel()
			}
		case lock.Changed:
			changed = e.Entry
			cancel()
		case lock.Broken:
			t.Errorf("broken: %v", e.Err)
		}
	})
	if err != nil {
		t.Error(err)
	}
	if len(listed) != n {
		t.Fatalf("listed %d of %d", len(listed), n)
	}
	for i := 1; i < n; i++ {
		if v := listed[fmt.Sprintf("lock-%d", i)]; v != versions[i] {
			t.Fatalf("lock-%d is listed at %v, written at %v", i, v, versions[i])
		}
	}
	if changed.Name != "lock-0" || changed.Version != versions[0] {
		t.Errorf("after the list came %+v", changed)
	}
}
