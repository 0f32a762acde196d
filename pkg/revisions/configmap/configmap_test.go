package configmap_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
	"github.com/primacy-dev/primacy/pkg/revisions/internal/sourcetest"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

const (
	name = "primacy-revisions"
	key  = "default"
)

// bench is one watched source and the ConfigMap that it reads.
type bench struct {
	*sourcetest.Watch
	maps  coreclient.ConfigMapInterface // the administrator's
	fault *fault
}

// newBench watches the key with the administrator's configuration. If use is not nil, it watches with
// the configuration that use returns.
func newBench(t *testing.T, use func(namespace string, c *rest.Config) *rest.Config) *bench {
	t.Helper()
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	admin := coreOf(t, cluster.Config)
	b := &bench{sourcetest.New(t), admin.ConfigMaps(namespace), &fault{}}
	config := rest.CopyConfig(cluster.Config)
	if use != nil {
		config = use(namespace, config)
	}
	config.Wrap(b.fault.wrap)
	t.Cleanup(func() {
		b.Stop()
		b.fault.closeIdle()
	})
	b.Begin(configmap.New(coreOf(t, config), configmap.Key{Namespace: namespace, Name: name, Key: key}, b.Log()))
	return b
}

func coreOf(t *testing.T, c *rest.Config) *coreclient.CoreV1Client {
	t.Helper()
	core, err := coreclient.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return core
}

const (
	trouble = "cannot read the preferred revision; keeping the last one, and retrying"
	over    = "preferred revision can be read again"
	refused = "the source's value is not a valid revision; keeping the last one until the ConfigMap is corrected"
)

func (b *bench) create(data map[string]string) {
	b.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	if _, err := b.maps.Create(b.Context(), cm, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) update(data map[string]string) {
	b.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	if _, err := b.maps.Update(b.Context(), cm, metav1.UpdateOptions{}); err != nil {
		b.Fatal(err)
	}
}

func TestValues(t *testing.T) {
	b := newBench(t, nil)
	b.Delivers("(unset)") // there is no ConfigMap
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-2"}, Data: map[string]string{key: "another's"}}
	if _, err := b.maps.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.create(map[string]string{key: "1-9-0\n"})
	b.Delivers("1-9-0")
	b.update(map[string]string{key: "1-9-0", "note": "says the same"})
	b.update(map[string]string{key: " 2-0-0 "})
	b.Delivers("2-0-0")
	b.update(map[string]string{"other": "x"})
	b.Delivers("(unset)")
	b.update(map[string]string{key: "2-0-0"})
	b.Delivers("2-0-0")
	b.update(map[string]string{key: "  "})
	b.Delivers("(unset)")
	b.update(map[string]string{key: "2-0-0"})
	b.Delivers("2-0-0")
	b.update(map[string]string{key: "no revision"})
	b.Says(refused)
	b.update(map[string]string{key: "no revision", "note": "still none"})
	b.update(map[string]string{key: "2-0-0"})
	if err := b.maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.Delivers("(unset)")
	b.Quiet()
}

// TestWatchCut checks that the source sees, afterwards, what happens while the stream is cut, and
// logs nothing if it can watch again at once.
func TestWatchCut(t *testing.T) {
	b := newBench(t, nil)
	b.Delivers("(unset)")
	b.create(map[string]string{key: "1-9-0"})
	b.Delivers("1-9-0")
	if n := b.fault.cut(); n != 1 {
		t.Fatalf("%d streams were open, want 1", n)
	}
	b.update(map[string]string{key: "2-0-0"})
	b.Delivers("2-0-0")
	b.Quiet()
}

// TestUnreachable checks that the last value stays while the server does not answer.
func TestUnreachable(t *testing.T) {
	b := newBench(t, nil)
	b.Delivers("(unset)")
	b.create(map[string]string{key: "1-9-0"})
	b.Delivers("1-9-0")
	b.fault.set(errUnreachable)
	b.fault.cut()
	b.Says(trouble, "last=1-9-0")
	b.fault.refused(3) // the source tries again, and logs nothing more
	b.update(map[string]string{key: "2-0-0"})
	b.fault.set(nil)
	b.Delivers("2-0-0")
	b.Says(over)
	b.Quiet()
}

// TestDeniedThenGranted checks that without permission the source knows nothing, so it delivers
// nothing.
func TestDeniedThenGranted(t *testing.T) {
	var namespace string
	var admin *rest.Config
	b := newBench(t, func(ns string, c *rest.Config) *rest.Config {
		namespace, admin = ns, c
		return as(t, c, ns, "reader")
	})
	b.create(map[string]string{key: "1-9-0"})
	b.Says(trouble, "last=none, so nothing moves", "forbidden", "(needed on configmap "+name+" in namespace "+namespace+": list, watch)")
	b.Quiet()
	grant(t, admin, namespace, "reader")
	b.Delivers("1-9-0")
	b.Says(over)
	b.update(map[string]string{key: "2-0-0"})
	b.Delivers("2-0-0")
}

// as makes a service account and returns its credentials.
func as(t *testing.T, c *rest.Config, namespace, account string) *rest.Config {
	t.Helper()
	accounts := coreOf(t, c).ServiceAccounts(namespace)
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}
	if _, err := accounts.Create(t.Context(), sa, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), account, tokenRequest(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	anonymous := rest.AnonymousClientConfig(c)
	anonymous.BearerToken = token.Status.Token
	anonymous.QPS = -1
	return anonymous
}

// grant gives the permissions that the package comment describes, on the one ConfigMap.
func grant(t *testing.T, c *rest.Config, namespace, account string) {
	t.Helper()
	rbac, err := rbacclient.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Name: account}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{name}, Verbs: []string{"list", "watch"},
	}}}
	if _, err := rbac.Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: namespace}},
	}
	if _, err := rbac.RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
