package configmap

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

var held = record.Record{Holder: "edge-0_0a1b2c3d", Duration: 15 * time.Second, Group: "edge", Election: "a"}

// TestOthersSurvive checks that our writes preserve everything that a ConfigMap carries, even an
// immutable one.
func TestOthersSurvive(t *testing.T) {
	for _, immutable := range []*bool{nil, new(false), new(true)} {
		r := newRealm(t)
		m := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				GenerateName: "a", Name: "a", Finalizers: []string{"example.com/keep"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "edge-0", UID: "p"}},
				Labels:          map[string]string{"team": "edge"},
				Annotations: map[string]string{
					"example.com/note": "hands off",
					leaderKey:          `{"holderIdentity":"b","leaseDurationSeconds":30,"strategy":"Oldest"}`,
				},
			},
			Data:       map[string]string{"key": "value"},
			BinaryData: map[string][]byte{"bytes": {0, 255}},
			Immutable:  immutable,
		}
		r.create(m)
		s := r.Store()
		e := r.mustGet(s, "a")
		next := held
		next.Rest, next.Acquired, next.Renewed = e.Record.Rest, acquired, renewed
		if _, err := s.Put(t.Context(), "a", next, e.Version); err != nil {
			t.Fatal(err)
		}
		got, err := r.Get("a")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Data, m.Data) || !reflect.DeepEqual(got.BinaryData, m.BinaryData) || !reflect.DeepEqual(got.Immutable, immutable) {
			t.Errorf("data became %v %v %v", got.Data, got.BinaryData, got.Immutable)
		}
		if got.GenerateName != "a" || !reflect.DeepEqual(got.Finalizers, m.Finalizers) || !reflect.DeepEqual(got.OwnerReferences, m.OwnerReferences) ||
			got.Labels["team"] != "edge" || got.Annotations["example.com/note"] != "hands off" || len(got.ManagedFields) == 0 {
			t.Errorf("metadata became %+v", got.ObjectMeta)
		}
		const want = `{"holderIdentity":"edge-0_0a1b2c3d","leaseDurationSeconds":15,"acquireTime":"2026-11-20T08:58:30Z","renewTime":"2026-11-20T08:59:01Z","leaderTransitions":0,"strategy":"Oldest"}`
		if got.Annotations[leaderKey] != want {
			t.Errorf("the record stands as %s\nwant %s", got.Annotations[leaderKey], want)
		}
	}
}

// TestOthersGiveWay checks that a write drops a stranger's annotation that left no room for ours. The server would refuse the write.
func TestOthersGiveWay(t *testing.T) {
	r := newRealm(t)
	const leader = `{"holderIdentity":"b","leaseDurationSeconds":30}`
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{leaderKey: leader}}}
	m.Annotations["example.com/huge"] = strings.Repeat("x", codec.MaxAnnotations-len(leaderKey)-len(leader)-len("example.com/huge"))
	r.create(m)
	s := r.Store()
	e := r.mustGet(s, "a")
	next := held
	next.Rest, next.Acquired, next.Renewed = e.Record.Rest, acquired, renewed
	if _, err := s.Put(t.Context(), "a", next, e.Version); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Get("a"); err != nil || got.Annotations["example.com/huge"] != "" || got.Annotations[leaderKey] == leader {
		t.Errorf("it has %d annotations, %v", len(got.Annotations), err)
	}
}

// TestVanished checks that the server's answer for a deleted lock, with and without the uid, means
// "vanished".
func TestVanished(t *testing.T) {
	r := newRealm(t)
	s := In(r.Client, r.Namespace)
	v, err := s.Put(t.Context(), "a", held, record.Version{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "a", held, v); !errors.Is(err, lock.ErrVanished) {
		t.Errorf("with its uid: %v", err)
	}
	m, err := s.encode("a", held, v)
	if err != nil {
		t.Fatal(err)
	}
	if string(m.UID) != v.UID || m.ResourceVersion == "" {
		t.Errorf("an update carries %q and %q", m.UID, m.ResourceVersion)
	}
	m.UID = ""
	err = r.Client.RESTClient().Put().Namespace(r.Namespace).Resource("configmaps").Name("a").Body(m).Do(t.Context()).Error()
	if !apierrors.IsNotFound(err) { // this means that it vanished: see TestAnswers
		t.Errorf("without: %v", err)
	}
}

func TestNoNamespace(t *testing.T) {
	s := In(newClient(t, devcluster.Start(t).Config), "nowhere")
	_, err := s.Put(t.Context(), "a", held, record.Version{})
	if !errors.Is(err, lock.ErrDenied) || !strings.Contains(err.Error(), "namespace nowhere does not exist") {
		t.Errorf("got %v", err)
	}
}

// TestPermission checks that in a namespace of others, a member needs only a role for the lock's name. A
// member without it gets an error, and goes on by itself once it has the role.
func TestPermission(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate.UserName = "member"
	s := In(newClient(t, config), namespace)
	if _, err := s.Put(t.Context(), "a", held, record.Version{}); !errors.Is(err, lock.ErrDenied) || !strings.Contains(err.Error(), "on configmaps in namespace "+namespace) {
		t.Errorf("put: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	denied := 0
	err := s.WatchNames(ctx, []string{"a", "b"}, func(e lock.Event) {
		switch e.Kind {
		case lock.Broken:
			if !errors.Is(e.Err, lock.ErrDenied) {
				t.Errorf("broken by %v", e.Err)
			}
			if denied++; denied == 2 {
				grant(t, cluster, namespace, "member", "a", "b")
			}
		case lock.Resumed:
			cancel()
		}
	})
	if err != nil || denied < 2 || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("WatchNames returned %v after %d denials", err, denied)
	}
	v, err := s.Put(t.Context(), "a", held, record.Version{})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	next := held
	next.Transitions = 1
	if _, err := s.Put(t.Context(), "a", next, v); err != nil {
		t.Errorf("update: %v", err)
	}
	if _, err := s.Get(t.Context(), "c"); !errors.Is(err, lock.ErrDenied) {
		t.Errorf("another's: %v", err)
	}
}

// TestPermissionForOneName checks that a watch shows the names that a member may watch, says which it may not, and shows those, too, once it may.
func TestPermissionForOneName(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate.UserName = "member"
	s := In(newClient(t, config), namespace)
	grant(t, cluster, namespace, "member", "a")
	if _, err := s.Put(t.Context(), "a", held, record.Version{}); err != nil {
		t.Fatalf("create: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var denied [][]string
	err := s.WatchNames(ctx, []string{"a", "b"}, func(e lock.Event) {
		switch {
		case e.Kind == lock.Listed && (len(e.List) != 1 || e.List[0].Name != "a" || len(e.Denied) > 0 && !errors.Is(e.Err, lock.ErrDenied)):
			t.Errorf("the list shows %v, and denies %v: %v", e.List, e.Denied, e.Err)
		case e.Kind == lock.Listed:
			denied = append(denied, e.Denied)
		case e.Kind == lock.Resumed && len(denied[len(denied)-1]) > 0:
			grant(t, cluster, namespace, "member", "b")
		case e.Kind == lock.Resumed:
			cancel()
		}
	})
	if err != nil || errors.Is(ctx.Err(), context.DeadlineExceeded) || len(denied) != 2 || !slices.Equal(denied[0], []string{"b"}) {
		t.Errorf("WatchNames returned %v, and denied %v", err, denied)
	}
}

// grant gives a user the permissions that a store needs for the names.
func grant(t *testing.T, cluster *devcluster.Cluster, namespace, user string, names ...string) {
	client, err := rbacclient.NewForConfig(cluster.Config)
	if err != nil {
		t.Error(err)
		return
	}
	meta := metav1.ObjectMeta{Name: "member-" + strings.Join(names, "-")}
	of := func(names []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: names, Verbs: verbs}
	}
	_, err = client.Roles(namespace).Create(context.Background(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		of(names, "get", "list", "watch", "update"), of(nil, "create"),
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Error(err)
	}
	_, err = client.RoleBindings(namespace).Create(context.Background(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Error(err)
	}
}

// TestWatchNoNames checks that a watch without names shows nothing, and that a watch refuses bad names.
func TestWatchNoNames(t *testing.T) {
	s := In(nil, "istio-system")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.WatchNames(ctx, nil, func(e lock.Event) { t.Errorf("delivered %v", e.Kind) }); err != nil {
		t.Error(err)
	}
	if err := s.WatchNames(ctx, []string{"No Name"}, nil); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
