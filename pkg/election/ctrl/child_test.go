package ctrl_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/ctrl"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
)

// Variables that make this program a member.
const (
	childName       = "CTRL_TEST_MEMBER"
	childRevision   = "CTRL_TEST_REVISION"
	childNamespace  = "CTRL_TEST_NAMESPACE"
	childKubeconfig = "CTRL_TEST_KUBECONFIG"
)

// preferred is where the preferred revision is.
func preferred(namespace string) configmap.Key {
	return configmap.Key{Namespace: namespace, Name: "preferred", Key: "revision"}
}

// child is a process with three controllers. Its lines say when each works, by CLOCK_BOOTTIME.
func child() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := work(ctx, os.Getenv(childName), os.Getenv(childRevision), os.Getenv(childNamespace)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func work(ctx context.Context, name, revision, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(childKubeconfig))
	if err != nil {
		return err
	}
	mgr, err := manager.New(ctrl.Gated(config), manager.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		return err
	}
	locks, err := lease.NewClient(rest.CopyConfig(config))
	if err != nil {
		return err
	}
	core, err := coreclient.NewForConfig(config)
	if err != nil {
		return err
	}
	elections, err := ctrl.New(mgr, election.Config{
		Group: "things", Host: name, Member: election.Member{Revision: revision}, Locks: lease.In(locks, namespace),
		Timing: fastest(), Preferences: configmap.New(core, preferred(namespace), zap.NewNop()),
	})
	if err != nil {
		return err
	}
	now := clock.Boottime()
	for e, kind := range kinds {
		if _, err := elections.Add(ctx, election.Spec{Name: e, Bootstrap: election.BootstrapImmediate}, ctrl.Controller{
			Watches: []ctrl.Watch{ctrl.For(kind)},
			Reconciler: reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				if r.Name != "one" {
					return reconcile.Result{}, nil
				}
				if err := touch(ctx, mgr.GetClient(), e, r, name); err != nil {
					return reconcile.Result{}, err
				}
				fmt.Printf("begin %s %d\n", e, now.Now())
				<-ctx.Done()
				fmt.Printf("end %s %d\n", e, now.Now())
				return reconcile.Result{}, nil
			}),
		}); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}
