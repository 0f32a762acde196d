package policy_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// world is the API server, as several users see it.
type world struct {
	cluster   *devcluster.Cluster
	namespace string
	admin     *kubernetes.Clientset
	member    *kubernetes.Clientset
}

// memberOf is the user name of members of a namespace.
func memberOf(namespace string) string { return "system:serviceaccount:" + namespace + ":primacy" }

func newWorld(t *testing.T) *world {
	t.Helper()
	cluster := devcluster.Start(t)
	w := &world{cluster: cluster, namespace: cluster.Namespace(t)}
	w.admin = clientOf(t, cluster.Config)
	// Admission alone decides here: the member has all rights.
	w.member = clientOf(t, w.as(memberOf(w.namespace), "system:masters"))
	return w
}

// as is a configuration of another user.
func (w *world) as(user string, groups ...string) *rest.Config {
	config := rest.CopyConfig(w.cluster.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return config
}

func clientOf(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(h.Transport) })
	c, err := kubernetes.NewForConfigAndClient(config, h)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// establish creates a policy and its binding. They are removed after the test.
func (w *world) establish(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy, b *admissionv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	api := w.admin.AdmissionregistrationV1()
	if _, err := api.ValidatingAdmissionPolicies().Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.ValidatingAdmissionPolicyBindings().Create(t.Context(), b, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if err := api.ValidatingAdmissionPolicyBindings().Delete(ctx, b.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if err := api.ValidatingAdmissionPolicies().Delete(ctx, p.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// takesEffect waits until the API server refuses a write: it learns of policies a while after they are stored.
func takesEffect(t *testing.T, write func() error) {
	t.Helper()
	for range 600 {
		err := write()
		if refused(err) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		<-clock.NewTimer(50 * time.Millisecond).C
	}
	t.Fatal("the API server does not enforce the policy")
}

// refused says whether a policy of ours refused a write: with Forbidden, or with Invalid if no rule of it could be evaluated.
func refused(err error) bool {
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}

func configMap(name string, labels ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: pairs(labels)}}
}

func leaseOf(name string, annotations ...string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: pairs(annotations)}}
}

func pairs(list []string) map[string]string {
	if len(list) == 0 {
		return nil
	}
	all := map[string]string{}
	for pair := range slices.Chunk(list, 2) {
		all[pair[0]] = pair[1]
	}
	return all
}
