package fence_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/fence/policy"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

// stampedWrites are the ways of client-go to write an object, in an order in which each can.
var stampedWrites = []struct {
	name  string
	write func(context.Context, coreclient.ConfigMapInterface) (*corev1.ConfigMap, error)
}{
	{"create", func(ctx context.Context, c coreclient.ConfigMapInterface) (*corev1.ConfigMap, error) {
		return c.Create(ctx, configMap("w"), metav1.CreateOptions{})
	}},
	{"update", func(ctx context.Context, c coreclient.ConfigMapInterface) (*corev1.ConfigMap, error) {
		return c.Update(ctx, configMap("w"), metav1.UpdateOptions{})
	}},
	{"merge patch", func(ctx context.Context, c coreclient.ConfigMapInterface) (*corev1.ConfigMap, error) {
		return c.Patch(ctx, "w", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
	}},
	{"strategic merge patch", func(ctx context.Context, c coreclient.ConfigMapInterface) (*corev1.ConfigMap, error) {
		return c.Patch(ctx, "w", types.StrategicMergePatchType, []byte(`{"data":{"b":"c"}}`), metav1.PatchOptions{})
	}},
	{"JSON patch", func(ctx context.Context, c coreclient.ConfigMapInterface) (*corev1.ConfigMap, error) {
		return c.Patch(ctx, "w", types.JSONPatchType, []byte(`[{"op":"add","path":"/data/c","value":"d"}]`), metav1.PatchOptions{})
	}},
	{"apply", func(ctx context.Context, c coreclient.ConfigMapInterface) (*corev1.ConfigMap, error) {
		return c.Apply(ctx, coreapply.ConfigMap("w", "").WithData(map[string]string{"d": "e"}), metav1.ApplyOptions{FieldManager: "leader", Force: true})
	}},
}

// TestStampedWrites sends every kind of write through Stamping to an API server with the policy. Each carries the token
// of the term, even where the object had another stamp before. The same writes without a stamp are refused.
func TestStampedWrites(t *testing.T) {
	real := devcluster.New(t) // a policy follows locks only if none was deleted before (docs/fencing.md)
	namespace := real.Namespace(t)
	user := "system:serviceaccount:" + namespace + ":primacy"
	config := rest.CopyConfig(real.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	began := make(chan struct{})
	p := joinCluster(t, &devcluster.Cluster{Config: config}, namespace, "m1", "stable", partyConfig{runner: election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		close(began)
		<-ctx.Done()
		return nil
	})})
	<-began
	leader := &writer{party: p, bare: coreOf(t, config, nil)}
	establishFence(t, real.Config, leader, policy.Fence{
		Group: "edge", Election: "a", Lock: policy.LockRef{Kind: policy.Lease, Namespace: namespace, Name: "a"},
		Writers: []string{user}, Resources: []schema.GroupResource{{Resource: "configmaps"}},
	}, namespace)
	stamping := coreOf(t, config, func(c *rest.Config) {
		c.ContentType = "application/json"
		c.Wrap(p.gate.Stamping)
	}).ConfigMaps(namespace)
	want := configMap("")
	fence.Stamp(want, "a", p.status.Token())
	earlier := configMap("w")
	fence.Stamp(earlier, "a", 1)
	admin := coreOf(t, real.Config, nil).ConfigMaps(namespace)
	for _, w := range stampedWrites {
		o, err := w.write(t.Context(), stamping)
		if err != nil || o.Labels[fence.StampKey("a")] != want.Labels[fence.StampKey("a")] {
			t.Errorf("%s: %+v, %v", w.name, o, err)
			continue
		}
		earlier.Data = o.Data // somebody else may set what they like
		if _, err := admin.Update(t.Context(), earlier, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	bare := leader.bare.ConfigMaps(namespace)
	for _, w := range stampedWrites[1:] {
		if _, err := w.write(t.Context(), bare); !apierrors.IsForbidden(err) {
			t.Errorf("%s without a stamp: %v", w.name, err)
		}
	}
	if _, err := coreOf(t, config, func(c *rest.Config) {
		c.ContentType = "application/vnd.kubernetes.protobuf"
		c.Wrap(p.gate.Stamping)
	}).ConfigMaps(namespace).Create(t.Context(), configMap("x"), metav1.CreateOptions{}); !errors.Is(err, fence.ErrNotStamped) {
		t.Errorf("protobuf: %v", err)
	}
}
