package ctrl_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/builder"
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
	childStage      = "CTRL_TEST_STAGE"
)

// Stages of a move from a manager that elects by itself.
const (
	elects   = "elects"   // the manager's own election
	migrates = "migrates" // an election for each controller, and the manager's Lease
	moved    = ""         // an election for each controller
)

// ownLease is the Lease of a manager that elects by itself.
const ownLease = "things.example.com"

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
	options := manager.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	}
	if os.Getenv(childStage) == elects {
		return workAsBefore(ctx, config, options, name, namespace)
	}
	mgr, err := manager.New(ctrl.Gated(config), options)
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
	if os.Getenv(childStage) == migrates {
		if _, err := elections.MigrateFrom(election.Spec{Name: "manager", Lock: ownLease, Foreign: election.Foreigners{Wait: ownWait}}); err != nil {
			return err
		}
	}
	for e, kind := range kinds {
		if _, err := elections.Add(ctx, election.Spec{Name: e, Bootstrap: election.BootstrapImmediate}, ctrl.Controller{
			Watches: []ctrl.Watch{ctrl.For(kind)}, Reconciler: noting(mgr, name, e),
		}); err != nil {
			return err
		}
	}
	go func() { // it takes part until the process ends
		for now := clock.Boottime(); ; {
			select {
			case <-ctx.Done():
				return
			case <-clock.NewTimer(20 * time.Millisecond).C:
			}
			if elections.Manager().CheckReady(nil) == nil {
				fmt.Printf("joined all %d\n", now.Now())
				return
			}
		}
	}()
	return mgr.Start(ctx)
}

// Timings of a manager that elects by itself, and for how long it may work after its last renewal.
const (
	ownLeaseDuration = 3 * time.Second
	ownRenewDeadline = 2 * time.Second
	ownRetryPeriod   = 500 * time.Millisecond
	ownWait          = 3*ownRenewDeadline + ownRetryPeriod
)

// workAsBefore is a program that knows only controller-runtime.
func workAsBefore(ctx context.Context, config *rest.Config, options manager.Options, name, namespace string) error {
	options.LeaderElection, options.LeaderElectionID, options.LeaderElectionNamespace = true, ownLease, namespace
	lasts, deadline, retry := ownLeaseDuration, ownRenewDeadline, ownRetryPeriod
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &lasts, &deadline, &retry
	options.LeaderElectionReleaseOnCancel = true
	mgr, err := manager.New(config, options)
	if err != nil {
		return err
	}
	for e, kind := range kinds {
		if err := builder.ControllerManagedBy(mgr).Named(e).For(kind).Complete(noting(mgr, name, e)); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}

// noting prints when it works, which is until shortly after its context ends.
func noting(mgr manager.Manager, name, e string) reconcile.Func {
	now := clock.Boottime()
	return func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		if r.Name != "one" {
			return reconcile.Result{}, nil
		}
		if err := touch(ctx, mgr.GetClient(), e, r, name); err != nil {
			return reconcile.Result{}, err
		}
		fmt.Printf("begin %s %d\n", e, now.Now())
		<-ctx.Done()
		<-clock.NewTimer(700 * time.Millisecond).C // longer than it takes others to see that a lock is free
		fmt.Printf("end %s %d\n", e, now.Now())
		return reconcile.Result{}, nil
	}
}
