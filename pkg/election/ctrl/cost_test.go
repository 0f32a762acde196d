package ctrl_test

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/ctrl"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

// counted counts the requests of a process.
type counted struct {
	next http.RoundTripper
	n    *atomic.Int64
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.next.RoundTrip(r)
}

// TestCosts compares what two processes with three controllers cost when idle: one manager each with three elections of ours, and three managers each
// with an election of their own. Both have the default timings. It measures for a minute each, if PRIMACY_CTRL_COSTS is set.
func TestCosts(t *testing.T) {
	if os.Getenv("PRIMACY_CTRL_COSTS") == "" {
		t.Skip("PRIMACY_CTRL_COSTS is not set")
	}
	cluster := devcluster.New(t)
	nothing := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })
	measure := func(what string, start func(ctx context.Context, config *rest.Config, namespace, name string) []manager.Manager) {
		var requests atomic.Int64
		namespace := cluster.Namespace(t)
		before := heap()
		goroutines := runtime.NumGoroutine()
		ctx, stop := context.WithCancel(t.Context())
		var ended []chan error
		for _, name := range []string{"a", "b"} {
			config := rest.CopyConfig(cluster.Config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, &requests} })
			for _, mgr := range start(ctx, config, namespace, name) {
				done := make(chan error, 1)
				ended = append(ended, done)
				go func() { done <- mgr.Start(ctx) }()
			}
		}
		<-clock.NewTimer(45 * time.Second).C // until all is led, and the watches stand
		begun := requests.Load()
		<-clock.NewTimer(time.Minute).C
		t.Logf("%s: %d requests a minute, %d KiB of heap, %d goroutines", what, requests.Load()-begun, (heap()-before)>>10, runtime.NumGoroutine()-goroutines)
		stop()
		for _, done := range ended {
			if err := await(t, soon(t), done, "end of a manager"); err != nil {
				t.Error(err)
			}
		}
	}
	options := func(namespace string) manager.Options {
		return manager.Options{Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}}}
	}
	measure("one manager in each of two processes, three elections", func(ctx context.Context, config *rest.Config, namespace, name string) []manager.Manager {
		mgr := made(t, ctrl.Gated(config), options(namespace))
		locks, err := lease.NewClient(config)
		if err != nil {
			t.Fatal(err)
		}
		elections, err := ctrl.New(mgr, election.Config{Group: "costs", Host: name, Member: election.Member{Revision: "v1"}, Locks: lease.In(locks, namespace)})
		if err != nil {
			t.Fatal(err)
		}
		for e, kind := range kinds {
			if _, err := elections.Add(ctx, election.Spec{Name: e}, ctrl.Controller{Watches: []ctrl.Watch{ctrl.For(kind)}, Reconciler: nothing}); err != nil {
				t.Fatal(err)
			}
		}
		return []manager.Manager{mgr}
	})
	measure("three managers in each of two processes, each with its own election", func(_ context.Context, config *rest.Config, namespace, name string) (all []manager.Manager) {
		for e, kind := range kinds {
			o := options(namespace)
			o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace, o.LeaderElectionReleaseOnCancel = true, e, namespace, true
			mgr := made(t, config, o)
			if err := builder.ControllerManagedBy(mgr).Named(name + "-" + e).For(kind.DeepCopyObject().(client.Object)).Complete(nothing); err != nil {
				t.Fatal(err)
			}
			all = append(all, mgr)
		}
		return all
	})
}

func made(t *testing.T, config *rest.Config, options manager.Options) manager.Manager {
	t.Helper()
	mgr, err := manager.New(config, options)
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// heap is how much of it lives.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
