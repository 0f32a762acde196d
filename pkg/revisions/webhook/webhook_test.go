package webhook_test

import (
	"context"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/revisions/internal/sourcetest"
	"github.com/primacy-dev/primacy/pkg/revisions/webhook"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// bench is one watched label and the object that carries it.
type bench struct {
	*sourcetest.Watch
	hooks admissionclient.MutatingWebhookConfigurationInterface // the administrator's
	label webhook.Label
}

// newBench watches the label with these credentials. The objects belong to the whole cluster, so each
// test uses a different name, or deletes its object.
func newBench(t *testing.T, label webhook.Label, credentials *rest.Config) *bench {
	t.Helper()
	b := &bench{sourcetest.New(t), admin(t).AdmissionregistrationV1().MutatingWebhookConfigurations(), label}
	http, err := rest.HTTPClientFor(credentials)
	if err != nil {
		t.Fatal(err)
	}
	client, err := admissionclient.NewForConfigAndClient(credentials, http)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Stop()
		utilnet.CloseIdleConnectionsFor(http.Transport)
		if err := b.hooks.Delete(context.WithoutCancel(t.Context()), label.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	b.Begin(webhook.New(client, label, b.Log()))
	return b
}

func admin(t *testing.T) kubernetes.Interface {
	t.Helper()
	config := devcluster.Start(t).Config
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfigAndClient(config, http)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *bench) object(labels map[string]string) *admissionv1.MutatingWebhookConfiguration {
	return &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: b.label.Name, Labels: labels}}
}

func (b *bench) create(labels map[string]string) {
	b.Helper()
	if _, err := b.hooks.Create(b.Context(), b.object(labels), metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) update(labels map[string]string) {
	b.Helper()
	o, err := b.hooks.Get(b.Context(), b.label.Name, metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	o.Labels = labels
	if _, err := b.hooks.Update(b.Context(), o, metav1.UpdateOptions{}); err != nil {
		b.Fatal(err)
	}
}

// TestIstio checks that without the object or the label no revision is preferred, which is a known
// value.
func TestIstio(t *testing.T) {
	b := newBench(t, webhook.Istio, devcluster.Start(t).Config)
	const rev = "istio.io/rev"
	b.Delivers("(unset)")
	other := b.object(map[string]string{rev: "another"})
	other.Name = "istio-revision-tag-prod"
	if _, err := b.hooks.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.create(map[string]string{rev: "1-9-0", "istio.io/tag": "default"})
	b.Delivers("1-9-0")
	b.update(map[string]string{rev: "2-0-0"})
	b.Delivers("2-0-0")
	b.update(map[string]string{"istio.io/tag": "default"})
	b.Delivers("(unset)")
	b.update(map[string]string{rev: "2-0-0"})
	b.Delivers("2-0-0")
	b.update(map[string]string{rev: ""})
	b.Delivers("(unset)")
	b.update(map[string]string{rev: "2-0-0"})
	b.Delivers("2-0-0")
	if err := b.hooks.Delete(t.Context(), b.label.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.Delivers("(unset)")
	b.create(map[string]string{rev: "1-9-0"})
	b.Delivers("1-9-0")
}

// TestDeniedThenGranted checks that without permission the source knows nothing, and that the
// permission that the package comment describes, on this one name, is enough.
func TestDeniedThenGranted(t *testing.T) {
	label := webhook.Label{Name: "hooks-of-another-mesh", Label: "example.org/rev"}
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	b := newBench(t, label, account(t, cluster.Config, namespace))
	b.create(map[string]string{label.Label: "1-9-0"})
	b.Says("last=none, so nothing moves", "forbidden",
		"(needed on mutatingwebhookconfiguration hooks-of-another-mesh of the cluster, by a ClusterRole: list, watch)")
	grant(t, namespace, label.Name)
	b.Delivers("1-9-0")
	b.Says("preferred revision can be read again")
	b.update(map[string]string{label.Label: "2-0-0"})
	b.Delivers("2-0-0")
}

// account makes a service account and returns its credentials.
func account(t *testing.T, c *rest.Config, namespace string) *rest.Config {
	t.Helper()
	accounts := admin(t).CoreV1().ServiceAccounts(namespace)
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	if _, err := accounts.Create(t.Context(), sa, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), "reader", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	anonymous := rest.AnonymousClientConfig(c)
	anonymous.BearerToken = token.Status.Token
	anonymous.QPS = -1
	return anonymous
}

// grant permits the account to read the one object.
func grant(t *testing.T, namespace, name string) {
	t.Helper()
	rbac := admin(t).RbacV1()
	meta := metav1.ObjectMeta{Name: namespace + "-reader"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{admissionv1.GroupName}, Resources: []string{"mutatingwebhookconfigurations"},
		ResourceNames: []string{name}, Verbs: []string{"list", "watch"},
	}}}
	if _, err := rbac.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "reader", Namespace: namespace}},
	}
	if _, err := rbac.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
