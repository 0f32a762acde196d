package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// TestServer runs all tests that need no restart, on one server.
func TestServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kubeconfig, audit := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "audit.log")
	s := start(t, stdinPipe, "--kubeconfig", kubeconfig, "--audit-log", audit, "--fsync=false")
	admin := client(t, kubeconfig)

	t.Run("says what it is", func(t *testing.T) {
		if s.kubeconfig != kubeconfig {
			t.Errorf("ready line names kubeconfig %s, want %s", s.kubeconfig, kubeconfig)
		}
		v, err := admin.Discovery().ServerVersion()
		noError(t, err)
		if v.GitVersion != s.version {
			t.Errorf("ready line names version %s, server says %s", s.version, v.GitVersion)
		}
		info, err := os.Stat(kubeconfig)
		noError(t, err)
		if info.Mode() != 0o600 {
			t.Errorf("kubeconfig has mode %v", info.Mode())
		}
	})
	t.Run("leaves nothing of its trial", func(t *testing.T) {
		leases, err := admin.CoordinationV1().Leases("default").List(t.Context(), metav1.ListOptions{})
		noError(t, err)
		if len(leases.Items) != 0 {
			t.Errorf("found leases: %v", leases.Items)
		}
	})
	t.Run("lease", func(t *testing.T) { testLease(t, admin) })
	t.Run("rbac", func(t *testing.T) { testRBAC(t, s, admin) })
	t.Run("admission policy", func(t *testing.T) { testAdmissionPolicy(t, admin) })
	t.Run("webhook configuration", func(t *testing.T) {
		_, err := admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), &admissionv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "istio-revision-tag-default", Labels: map[string]string{"istio.io/rev": "1-9-0"}},
		}, metav1.CreateOptions{})
		noError(t, err)
	})
	t.Run("audit log", func(t *testing.T) {
		content, err := os.ReadFile(audit)
		noError(t, err)
		if !strings.Contains(string(content), `"verb":"update","user":{"username":"devcluster-admin"`) {
			t.Errorf("no update of ours in the audit log:\n%s", content)
		}
		if strings.Contains(string(content), `"username":"system:apiserver"`) {
			t.Errorf("the server's own requests are in the audit log:\n%s", content)
		}
	})

	noError(t, s.stdin.Close())
	code, stdout := s.exit()
	if code != 0 || stdout != "" || !strings.Contains(s.errors.String(), "standard input closed") {
		t.Errorf("exit code %d, more output %q, errors:\n%s", code, stdout, &s.errors)
	}
	s.mustLeaveNothing()
	if _, err := os.Stat(kubeconfig); !os.IsNotExist(err) {
		t.Errorf("kubeconfig of a temporary server is still there: %v", err)
	}
}

// testLease checks that resource versions order writes, and that a watch shows each write.
func testLease(t *testing.T, c kubernetes.Interface) {
	leases := c.CoordinationV1().Leases("default")
	created, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "election"}}, metav1.CreateOptions{})
	noError(t, err)
	w, err := leases.Watch(t.Context(), metav1.ListOptions{ResourceVersion: created.ResourceVersion})
	noError(t, err)
	defer w.Stop()

	change := created.DeepCopy()
	change.Spec.HolderIdentity = ptr.To("a")
	updated, err := leases.Update(t.Context(), change, metav1.UpdateOptions{})
	noError(t, err)
	if _, err := leases.Update(t.Context(), change, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("second update of the same version: %v, want a conflict", err)
	}
	e := <-w.ResultChan()
	seen, ok := e.Object.(*coordinationv1.Lease)
	if !ok || e.Type != watch.Modified || seen.ResourceVersion != updated.ResourceVersion {
		t.Errorf("watch shows %v %v, want version %s", e.Type, e.Object, updated.ResourceVersion)
	}
}

// testRBAC checks that a service account may do what a role grants it, in its namespace, and no more.
func testRBAC(t *testing.T, s *server, admin kubernetes.Interface) {
	member := client(t, mintFor(t, s, "edge", "member"))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "election"}}
	if _, err := member.CoordinationV1().Leases("edge").Create(t.Context(), lease, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("create without a role: %v, want forbidden", err)
	}

	_, err := admin.RbacV1().Roles("edge").Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "elector"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}}},
	}, metav1.CreateOptions{})
	noError(t, err)
	_, err = admin.RbacV1().RoleBindings("edge").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "elector"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "elector"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "edge", Name: "member"}},
	}, metav1.CreateOptions{})
	noError(t, err)

	eventually(t, "the role takes effect", func() bool {
		_, err = member.CoordinationV1().Leases("edge").Create(t.Context(), lease, metav1.CreateOptions{})
		return err == nil
	})
	if _, err := member.CoordinationV1().Leases("default").Create(t.Context(), lease, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("create in another namespace: %v, want forbidden", err)
	}
}

func testAdmissionPolicy(t *testing.T, c kubernetes.Interface) {
	_, err := c.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-evil"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				},
			}}},
			Validations: []admissionv1.Validation{{Expression: "!object.metadata.name.startsWith('evil')", Message: "no evil here"}},
		},
	}, metav1.CreateOptions{})
	noError(t, err)
	_, err = c.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "no-evil"},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        "no-evil",
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}, metav1.CreateOptions{})
	noError(t, err)

	evil := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "evil-"}}
	eventually(t, "the policy takes effect", func() bool {
		_, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), evil, metav1.CreateOptions{})
		return err != nil && strings.Contains(err.Error(), "no evil here")
	})
	_, err = c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "good"}}, metav1.CreateOptions{})
	noError(t, err)
}

// eventually polls, for state that the server learns from its own informers
// and does not announce.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) { return ok(), nil })
	if err != nil {
		t.Fatalf("waited in vain: %s", what)
	}
}
