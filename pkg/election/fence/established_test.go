package fence_test

import (
	"context"
	"errors"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/fence/policy"
)

// admission is a policy with its binding, which has the same name.
type admission interface {
	Name() string
	Policy() *admissionv1.ValidatingAdmissionPolicy
	Binding() *admissionv1.ValidatingAdmissionPolicyBinding
}

// establish creates the policy and its binding, for as long as the test lasts.
func establish(t *testing.T, config *rest.Config, a admission) {
	t.Helper()
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	api, err := admissionclient.NewForConfigAndClient(config, h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.ValidatingAdmissionPolicies().Create(t.Context(), a.Policy(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.ValidatingAdmissionPolicyBindings().Create(t.Context(), a.Binding(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer utilnet.CloseIdleConnectionsFor(h.Transport)
		ctx := context.Background()
		if err := errors.Join(api.ValidatingAdmissionPolicyBindings().Delete(ctx, a.Name(), metav1.DeleteOptions{}),
			api.ValidatingAdmissionPolicies().Delete(ctx, a.Name(), metav1.DeleteOptions{})); err != nil {
			t.Error(err)
		}
	})
}

// establishFence creates the policy, and waits until the API server refuses a write.
func establishFence(t *testing.T, config *rest.Config, w *writer, f policy.Fence, namespace string) {
	t.Helper()
	establish(t, config, f)
	probe := configMap("probe")
	fence.Stamp(probe, f.Election, 1)
	var err error
	for range 1200 {
		_, err = w.bare.ConfigMaps(namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) {
			return
		}
		<-clock.NewTimer(50 * time.Millisecond).C
	}
	t.Fatal("the API server does not enforce the policy; its last answer:", err)
}
