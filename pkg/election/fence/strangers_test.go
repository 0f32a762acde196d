package fence_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/fence/policy"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestStrangersAreRefused lets somebody with Kubernetes' role edit rewrite, freeze, flap, blank, corrupt and delete the lock
// and the sessions of living members, under both policies. Nothing of it is carried out: the leader's stamped writes go
// on in the same term, none is refused, and leadership moves as ever.
func TestStrangersAreRefused(t *testing.T) {
	real := devcluster.New(t) // a policy follows locks only if none was deleted before (docs/fencing.md)
	namespace := real.Namespace(t)
	user := "system:serviceaccount:" + namespace + ":primacy"
	config := rest.CopyConfig(real.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	cluster := &devcluster.Cluster{Config: config}
	began := make(chan string, 16)
	timing, _ := record.Profile(record.DefaultProfile)
	timing.PreemptDelay, timing.MinHold = 0, 0
	join := func(name, revision string) *writer {
		p := joinCluster(t, cluster, namespace, name, revision, partyConfig{timing: timing, runner: election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
			began <- name
			<-ctx.Done()
			return nil
		})})
		return &writer{party: p, bare: coreOf(t, config, nil), gated: coreOf(t, config, func(c *rest.Config) {
			c.ContentType = "application/json"
			c.Wrap(p.gate.Stamping)
		})}
	}
	m1 := join("m1", "stable")
	if got := <-began; got != "m1" {
		t.Fatalf("%s leads", got)
	}
	m2 := join("m2", "canary")
	guard := policy.Guard{Group: "edge", Namespace: namespace, Writers: []string{user}, Leases: []string{"a"}}
	establish(t, real.Config, guard)
	establishFence(t, real.Config, m1, policy.Fence{
		Group: "edge", Election: "a", Lock: policy.LockRef{Kind: policy.Lease, Namespace: namespace, Name: "a"},
		Writers: []string{user}, Resources: []schema.GroupResource{{Resource: "configmaps"}},
	}, namespace)
	leases := editorOf(t, real.Config, namespace)

	if _, err := m1.gated.ConfigMaps(namespace).Create(t.Context(), configMap("work"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token := m1.status.Token()
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writes := 0
	writing.Go(func() {
		for ctx.Err() == nil {
			writes++
			patch := fmt.Appendf(nil, `{"data":{"n":"%d"}}`, writes)
			if _, err := m1.gated.ConfigMaps(namespace).Patch(context.Background(), "work", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Errorf("write %d: %v", writes, err)
			}
		}
	})
	list, err := leases.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 3 { // the lock and two sessions
		t.Fatalf("%d leases: %v", len(list.Items), err)
	}
	attempts := 0
	for range 10 {
		for _, l := range list.Items {
			for _, patch := range []string{
				`{"spec":{"holderIdentity":"mallory","leaseDurationSeconds":3600}}`,
				fmt.Sprintf(`{"spec":{"holderIdentity":%q}}`, *l.Spec.HolderIdentity),
				`{"spec":{"holderIdentity":""}}`,
				`{"metadata":{"annotations":{"primacy.dev/token":"1"}}}`,
				`{"metadata":{"annotations":{"primacy.dev/token":"4000000000000000000"}}}`,
				`{"metadata":{"annotations":{"primacy.dev/holder":"{","primacy.dev/beat":"-"}}}`,
				`{"metadata":{"annotations":null,"labels":null}}`,
			} {
				attempts++
				if _, err := leases.Patch(t.Context(), l.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
					t.Errorf("%s: %s: %v", l.Name, patch, err)
				}
			}
			attempts++
			if err := leases.Delete(t.Context(), l.Name, metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
				t.Errorf("delete %s: %v", l.Name, err)
			}
		}
	}
	stop()
	writing.Wait()
	if m1.status.Token() != token || !m1.status.IsLeader() || writes < 10 {
		t.Errorf("token %d after %d, leads %v, %d writes", m1.status.Token(), token, m1.status.IsLeader(), writes)
	}
	t.Logf("%d writes of strangers, all refused; %d stamped writes meanwhile, none refused", attempts, writes)
	for _, p := range []*writer{m1, m2} {
		p.prefs <- record.Prefer("canary")
	}
	if got := <-began; got != "m2" {
		t.Errorf("%s leads", got)
	}
	if _, err := m2.gated.ConfigMaps(namespace).Patch(t.Context(), "work", types.MergePatchType, []byte(`{"data":{"by":"m2"}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}

// editorOf is the Leases of a namespace for a user with the rights of Kubernetes' role edit.
func editorOf(t *testing.T, config *rest.Config, namespace string) coordinationclient.LeaseInterface {
	t.Helper()
	const user = "mallory"
	admin, err := rbacclient.NewForConfigAndClient(config, connected(t, config))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		// The role edit is aggregated of this one, by a controller that does not run here.
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:aggregate-to-edit"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := coordinationclient.NewForConfigAndClient(config, connected(t, config))
	if err != nil {
		t.Fatal(err)
	}
	return c.Leases(namespace)
}
