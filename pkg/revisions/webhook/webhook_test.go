package webhook_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/revisions/webhook"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// longest is how long a test waits for a delivery or a line of the log.
const longest = 30 * time.Second

// bench is one watched label and the object that carries it.
type bench struct {
	*testing.T
	hooks admissionclient.MutatingWebhookConfigurationInterface // the administrator's
	label webhook.Label
	got   chan string
	lines chan string
}

// newBench watches the label with these credentials. The objects belong to the whole cluster, so each
// test uses a different name, or deletes its object.
func newBench(t *testing.T, label webhook.Label, credentials *rest.Config) *bench {
	t.Helper()
	b := &bench{T: t, label: label, got: make(chan string, 16), lines: make(chan string, 16)}
	b.hooks = admin(t).AdmissionregistrationV1().MutatingWebhookConfigurations()
	http, err := rest.HTTPClientFor(credentials)
	if err != nil {
		t.Fatal(err)
	}
	client, err := admissionclient.NewForConfigAndClient(credentials, http)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	source := webhook.New(client, label, zap.New(tee{b.lines}))
	go func() { done <- source.Watch(ctx, func(p election.Preference) { b.got <- p.Digest() }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch returned %v", err)
		}
		utilnet.CloseIdleConnectionsFor(http.Transport)
		if err := b.hooks.Delete(context.WithoutCancel(t.Context()), label.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
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

func (b *bench) next(want string) {
	b.Helper()
	select {
	case p := <-b.got:
		if p != want {
			b.Fatalf("delivered %s, want %s", p, want)
		}
	case line := <-b.lines:
		b.Fatalf("logged %q, want %s", line, want)
	case <-time.After(longest):
		b.Fatalf("nothing was delivered, want %s", want)
	}
}

// says waits for a line of the log that contains all parts.
func (b *bench) says(parts ...string) {
	b.Helper()
	select {
	case line := <-b.lines:
		for _, p := range parts {
			if !strings.Contains(line, p) {
				b.Errorf("logged %q, want %q", line, p)
			}
		}
	case p := <-b.got:
		b.Fatalf("delivered %s, want a line of the log with %q", p, parts)
	case <-time.After(longest):
		b.Fatalf("nothing was logged, want %q", parts)
	}
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
	b.next("(unset)")
	other := b.object(map[string]string{rev: "another"})
	other.Name = "istio-revision-tag-prod"
	if _, err := b.hooks.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.create(map[string]string{rev: "1-9-0", "istio.io/tag": "default"})
	b.next("1-9-0")
	b.update(map[string]string{rev: "2-0-0"})
	b.next("2-0-0")
	b.update(map[string]string{"istio.io/tag": "default"})
	b.next("(unset)")
	b.update(map[string]string{rev: "2-0-0"})
	b.next("2-0-0")
	b.update(map[string]string{rev: ""})
	b.next("(unset)")
	b.update(map[string]string{rev: "2-0-0"})
	b.next("2-0-0")
	if err := b.hooks.Delete(t.Context(), b.label.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.next("(unset)")
	b.create(map[string]string{rev: "1-9-0"})
	b.next("1-9-0")
}

// TestDeniedThenGranted checks that without permission the source knows nothing, and that the
// permission that the package comment describes, on this one name, is enough.
func TestDeniedThenGranted(t *testing.T) {
	label := webhook.Label{Name: "hooks-of-another-mesh", Label: "example.org/rev"}
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	b := newBench(t, label, account(t, cluster.Config, namespace))
	b.create(map[string]string{label.Label: "1-9-0"})
	b.says("last=none, so nothing moves", "forbidden",
		"(needed on mutatingwebhookconfiguration hooks-of-another-mesh of the cluster, by a ClusterRole: list, watch)")
	grant(t, namespace, label.Name)
	b.next("1-9-0")
	b.says("preferred revision can be read again")
	b.update(map[string]string{label.Label: "2-0-0"})
	b.next("2-0-0")
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

// tee sends lines of a log where a test can wait for them.
type tee struct{ lines chan<- string }

func (t tee) Enabled(l zapcore.Level) bool             { return l >= zapcore.InfoLevel }
func (t tee) With(fields []zapcore.Field) zapcore.Core { return t }
func (t tee) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if t.Enabled(e.Level) {
		return ce.AddCore(e, t)
	}
	return ce
}
func (t tee) Write(e zapcore.Entry, fields []zapcore.Field) error {
	text := e.Message
	for _, f := range fields {
		if err, failed := f.Interface.(error); failed {
			text += " error=" + err.Error()
			continue
		}
		text += " " + f.Key + "=" + f.String
	}
	t.lines <- text
	return nil
}
func (t tee) Sync() error { return nil }
