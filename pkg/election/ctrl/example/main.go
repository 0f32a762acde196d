// Command example is a manager of controller-runtime with two controllers, for the kinds of crds.yaml. Each has an
// election of its own: one process may lead the widgets, and another one the gadgets.
//
//	kubectl apply -f crds.yaml
//	go run . --kubeconfig K --namespace N --name a
//	go run . --kubeconfig K --namespace N --name b
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/ctrl"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of a kubeconfig; empty in a Pod")
	namespace := flag.String("namespace", "default", "where the locks are")
	name := flag.String("name", "", "this member's name, unlike any other's (default: the host's)")
	flag.Parse()
	if err := run(signals.SetupSignalHandler(), *kubeconfig, *namespace, *name); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	locks, err := lease.NewClient(config)
	if err != nil {
		return err
	}
	defer locks.CloseIdleConnections()
	mgr, err := manager.New(ctrl.Gated(config), manager.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	elections, err := ctrl.New(mgr, election.Config{
		Group: "example", Host: name, Member: election.Member{Revision: "v1"}, Locks: lease.In(locks, namespace),
	})
	if err != nil {
		return err
	}
	client := mgr.GetClient()
	for _, c := range []struct {
		election string
		ctrl.Controller
	}{
		{"widgets", ctrl.Controller{Watches: []ctrl.Watch{ctrl.For(object("Widget")), ctrl.Owns(object("Widget"), text())}, Reconciler: widgets{client}}},
		{"gadgets", ctrl.Controller{Watches: []ctrl.Watch{ctrl.For(object("Gadget"))}, Reconciler: gadgets{client}}},
	} {
		if _, err := elections.Add(ctx, election.Spec{Name: c.election, Bootstrap: election.BootstrapImmediate}, c.Controller); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}
