package fence_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// request is one kind of request that a client of client-go sends.
type request struct {
	name string
	send func(ctx context.Context, c *coreclient.CoreV1Client, namespace string) error
}

var reads = []request{
	{"get", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		_, err := c.ConfigMaps(ns).Get(ctx, "proxy", metav1.GetOptions{})
		return err
	}},
	{"list", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		_, err := c.ConfigMaps(ns).List(ctx, metav1.ListOptions{})
		return err
	}},
	{"watch", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		w, err := c.ConfigMaps(ns).Watch(ctx, metav1.ListOptions{})
		if err == nil {
			if _, ok := <-w.ResultChan(); !ok {
				err = errors.New("the watch shows nothing")
			}
			w.Stop()
		}
		return err
	}},
	{"non-resource read", func(ctx context.Context, c *coreclient.CoreV1Client, _ string) error {
		return c.RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	}},
	{"ungated create", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		_, err := c.Events(ns).Create(fence.Ungated(ctx), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "e"}, InvolvedObject: corev1.ObjectReference{Namespace: ns},
		}, metav1.CreateOptions{})
		return err
	}},
}

// The order matters: each request needs what the one before left.
var writes = []request{
	{"create", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		_, err := c.ConfigMaps(ns).Create(ctx, configMap("w"), metav1.CreateOptions{})
		return err
	}},
	{"update", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		_, err := c.ConfigMaps(ns).Update(ctx, configMap("w"), metav1.UpdateOptions{})
		return err
	}},
	{"patch", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		_, err := c.ConfigMaps(ns).Patch(ctx, "w", types.MergePatchType, []byte(`{"data":{"k":"v"}}`), metav1.PatchOptions{})
		return err
	}},
	{"apply", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		_, err := c.ConfigMaps(ns).Patch(ctx, "w", types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap","data":{"l":"v"}}`), metav1.PatchOptions{FieldManager: "test"})
		return err
	}},
	{"delete", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		return c.ConfigMaps(ns).Delete(ctx, "w", metav1.DeleteOptions{})
	}},
	{"deletecollection", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		return c.ConfigMaps(ns).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	}},
	{"subresource", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		return c.RESTClient().Patch(types.MergePatchType).Resource("namespaces").Name(ns).SubResource("status").Body([]byte(`{}`)).Do(ctx).Error()
	}},
	{"review", func(ctx context.Context, c *coreclient.CoreV1Client, _ string) error {
		return c.RESTClient().Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").
			Body([]byte(`{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}`)).
			SetHeader("Content-Type", "application/json").Do(ctx).Error()
	}},
	{"proxy of a service", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		_, err := c.Services(ns).ProxyGet("http", "s", "80", "/", nil).DoRaw(ctx)
		return err
	}},
	{"proxy of a node", func(ctx context.Context, c *coreclient.CoreV1Client, _ string) error {
		return c.RESTClient().Get().Resource("nodes").Name("n").SubResource("proxy").Suffix("metrics").Do(ctx).Error()
	}},
	{"exec", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		return c.RESTClient().Get().Namespace(ns).Resource("pods").Name("p").SubResource("exec").Do(ctx).Error()
	}},
	{"unknown verb", func(ctx context.Context, c *coreclient.CoreV1Client, ns string) error {
		return c.RESTClient().Verb("BREW").Namespace(ns).Resource("configmaps").Do(ctx).Error()
	}},
	{"non-resource write", func(ctx context.Context, c *coreclient.CoreV1Client, _ string) error {
		return c.RESTClient().Post().AbsPath("/healthz").Do(ctx).Error()
	}},
}

// beyondTheServer lists requests that cannot succeed on an API server without nodes; it is enough that
// they reach it.
var beyondTheServer = map[string]bool{"proxy of a service": true, "proxy of a node": true, "exec": true, "unknown verb": true, "non-resource write": true}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestGateOnTheAPIServer checks, on the real API server and through client-go, that a follower can read
// but not write, and that client-go does not retry; and that the leader can do both.
func TestGateOnTheAPIServer(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	began := make(chan struct{})
	leader := joinCluster(t, cluster, namespace, "m1", "stable", partyConfig{runner: election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		close(began)
		<-ctx.Done()
		return nil
	})})
	<-began
	leader.wantRenewed(t, record.RenewalSession)
	follower := joinCluster(t, cluster, namespace, "m2", "stable", partyConfig{})
	if _, err := leader.core.ConfigMaps(namespace).Create(t.Context(), configMap("proxy"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	leader.asked.take()
	leader.trail.take()
	for _, p := range []*party{follower, leader} {
		for _, r := range reads {
			if err := r.send(t.Context(), p.core, namespace); err != nil || len(p.trail.take()) == 0 {
				t.Errorf("%s: %s: %v", p.name, r.name, err)
			}
		}
		p.asked.take()
	}
	for _, w := range writes {
		err := w.send(t.Context(), follower.core, namespace)
		if sent := follower.trail.take(); !errors.Is(err, fence.ErrNotLeading) || len(sent) != 0 {
			t.Errorf("follower: %s: sent %v: %v", w.name, sent, err)
		}
		if n := follower.asked.take(); n != 1 {
			t.Errorf("follower: %s: tried %d times", w.name, n)
		}
	}
	for _, w := range writes {
		err := w.send(t.Context(), leader.core, namespace)
		if sent := leader.trail.take(); errors.Is(err, fence.ErrNotLeading) || len(sent) == 0 || err != nil && !beyondTheServer[w.name] {
			t.Errorf("leader: %s: sent %v: %v", w.name, sent, err)
		}
	}
	leader.stop()
	for _, w := range writes {
		err := w.send(t.Context(), leader.core, namespace)
		if sent := leader.trail.take(); !errors.Is(err, fence.ErrNotLeading) || len(sent) != 0 {
			t.Errorf("former leader: %s: sent %v: %v", w.name, sent, err)
		}
	}
}

// broken is a store whose writes fail once the test says so.
type broken struct {
	lock.Store
	now chan struct{}
}

func (b *broken) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	select {
	case <-b.now:
		return record.Version{}, lock.ErrDenied
	default:
		return b.Store.Put(ctx, name, r, replaces)
	}
}

// TestCutOnTheAPIServer checks, on the real API server, that a write for which the server waits is cut
// when the term is not renewed, and is not carried out.
func TestCutOnTheAPIServer(t *testing.T) {
	for _, by := range []record.Renewal{record.RenewalSession, record.RenewalRecord} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			cutOnTheAPIServer(t, by)
		})
	}
}

func cutOnTheAPIServer(t *testing.T, by record.Renewal) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	store := &broken{now: make(chan struct{})}
	began := make(chan struct{})
	fast, _ := record.Profile("fast")
	p := joinCluster(t, cluster, namespace, "m1", "stable", partyConfig{
		timing:  fast,
		renewal: by,
		locks:   func(s lock.Store) lock.Store { store.Store = s; return store },
		runner: election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
			close(began)
			<-ctx.Done()
			return nil
		}),
	})
	<-began
	p.wantRenewed(t, by)
	body, send := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.core.RESTClient().Post().Namespace(namespace).Resource("configmaps").URL().String(), body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	done := make(chan error, 1)
	go func() {
		resp, err := p.http.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		done <- err
	}()
	if _, err := send.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"late"`)); err != nil {
		t.Fatal(err)
	}
	close(store.now)
	err = <-done
	var why *election.Stop
	var cut *fence.NotLeadingError
	if !errors.As(err, &cut) || cut.Progress != fence.Cut || !errors.Is(err, fence.ErrNotLeading) || !errors.As(err, &why) || why.Reason != "not renewed in time" {
		t.Errorf("%v", err)
	}
	if _, err := send.Write([]byte(`}}`)); err == nil {
		t.Error("the request's body is still read")
	}
	if _, err := p.core.ConfigMaps(namespace).Get(t.Context(), "late", metav1.GetOptions{}); err == nil {
		t.Error("the write was carried out")
	}
	if err := p.gate.Check(); err == nil {
		t.Error("the gate is open")
	}
}
