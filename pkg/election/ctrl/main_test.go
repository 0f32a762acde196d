package ctrl_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/ctrl"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	if os.Getenv(childName) != "" {
		child()
		return
	}
	// Two goroutines of controller-runtime wait for ever if a manager is stopped before a handler has seen all objects.
	const below = "sigs.k8s.io/controller-runtime/pkg/cache."
	devcluster.Main(m, goleak.IgnoreTopFunction(below+"newMultiNamespaceInformer.func1"), goleak.IgnoreTopFunction(below+"newMultiNamespaceInformerHandlerRegistration.func1"))
}

// kinds are what the three controllers reconcile, by the names of their elections.
var kinds = map[string]client.Object{"maps": &corev1.ConfigMap{}, "secrets": &corev1.Secret{}, "accounts": &corev1.ServiceAccount{}}

// member is a manager with a controller of each kind.
type member struct {
	name     string
	mgr      manager.Manager
	status   map[string]*election.Status
	prefs    chan record.Preferred
	stop     func()
	finished chan struct{}
}

// Watch makes the member its own source of the preferred revision.
func (m *member) Watch(ctx context.Context, deliver func(election.Preference)) error {
	for {
		select {
		case v := <-m.prefs:
			deliver(v)
		case <-ctx.Done():
			return nil
		}
	}
}

// notice tells that a reconciler works in a term.
type notice struct {
	member, election string
}

func fastest() record.Timing {
	timing, _ := record.Profile("fast")
	timing.PreemptDelay, timing.MinHold = 0, 0
	return timing
}

func join(t *testing.T, config *rest.Config, namespace, name, revision string, work func(m *member, e string) reconcile.Func) *member {
	t.Helper()
	m := &member{name: name, status: map[string]*election.Status{}, prefs: make(chan record.Preferred, 16), finished: make(chan struct{})}
	m.prefs <- record.Prefer("v1")
	var err error
	m.mgr, err = manager.New(ctrl.Stamped(config), manager.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	locks, err := lease.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	timing := fastest()
	timing.LeaseDuration = 15 * time.Second // no test waits for these leases, and a busy machine may stand still for seconds
	elections, err := ctrl.New(m.mgr, election.Config{
		Group: "things", Host: name, Member: election.Member{Revision: revision}, Locks: lease.In(locks, namespace),
		Timing: timing, Preferences: m, Abort: func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for e, kind := range kinds {
		if m.status[e], err = elections.Add(t.Context(), election.Spec{Name: e, Bootstrap: election.BootstrapImmediate}, ctrl.Controller{
			Watches: []ctrl.Watch{ctrl.For(kind)}, Reconciler: work(m, e),
		}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var failed error
	go func() {
		defer close(m.finished)
		failed = m.mgr.Start(ctx)
	}()
	m.stop = sync.OnceFunc(func() {
		cancel()
		<-m.finished
		if failed != nil {
			t.Errorf("%s: %v", name, failed)
		}
		locks.CloseIdleConnections()
		m.mgr.GetHTTPClient().CloseIdleConnections()
	})
	t.Cleanup(m.stop)
	return m
}

func thing(e, namespace, name string) client.Object {
	o := kinds[e].DeepCopyObject().(client.Object)
	o.SetName(name)
	o.SetNamespace(namespace)
	return o
}

// soon bounds a wait for what must happen.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func await[T any](t *testing.T, ctx context.Context, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-ctx.Done():
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

// touch writes an object, as a reconciler does.
func touch(ctx context.Context, c client.Client, e string, r reconcile.Request, by string) error {
	o := kinds[e].DeepCopyObject().(client.Object)
	if err := c.Get(ctx, r.NamespacedName, o); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := o.DeepCopyObject().(client.Object)
	o.SetAnnotations(map[string]string{"by": by})
	return c.Patch(ctx, o, client.MergeFrom(before))
}

func newThings(t *testing.T, config *rest.Config, namespace string) {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for e := range kinds {
		if err := c.Create(t.Context(), thing(e, namespace, "one")); err != nil {
			t.Fatal(err)
		}
	}
}
