// Command gated-controller is an example: a controller of client-go whose members all keep
// their caches warm, while only the leader writes. It greets whoever a ConfigMap names:
//
//	metadata: {labels: {greet: "true"}}
//	data: {name: world}                  # becomes data: {name: world, greeting: hello world}
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
	"github.com/primacy-dev/primacy/pkg/runners/parent/burial"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of a kubeconfig; empty in a Pod")
	namespace := flag.String("namespace", "default", "where the ConfigMaps and the locks are")
	name := flag.String("name", "", "this member's name, unlike any other's (default: the host's)")
	profile := flag.String("profile", record.DefaultProfile, "timing profile")
	flag.Parse()
	// If this process crashes, its parent says so, and another member leads at once.
	guard, err := burial.Start(burial.Plan{Sessions: func(*parent.Dead) (lock.Store, error) { return store(*kubeconfig, *namespace) }})
	if err != nil {
		fmt.Fprintln(os.Stderr, "gated-controller: after a crash, others wait for a lease:", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *namespace, *name, *profile, guard); err != nil {
		fmt.Fprintln(os.Stderr, "gated-controller:", err)
		os.Exit(1)
	}
}

// store is where the locks and sessions are. Its client is not gated, or nobody would ever lead.
func store(kubeconfig, namespace string) (lock.Store, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := lease.NewClient(config)
	if err != nil {
		return nil, err
	}
	return lease.In(client, namespace), nil
}

func run(ctx context.Context, kubeconfig, namespace, name, profile string, guard election.Parent) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	timing, err := record.Profile(profile)
	if err != nil {
		return err
	}
	locks, err := store(kubeconfig, namespace)
	if err != nil {
		return err
	}
	m, err := election.NewManager(election.Config{
		Group: "greeters", Host: name, Member: election.Member{Revision: "v1"}, Locks: locks, Timing: timing, Parent: guard,
	})
	if err != nil {
		return err
	}
	c := &controller{}
	status, err := m.Add(election.Spec{Name: "greeter"}, election.RunnerFunc(c.lead))
	if err != nil {
		return err
	}

	// Everything else goes through the gate: it always lets reads pass, and writes only while this member leads. It
	// stamps them, for the policy of primacy generate fence-policy.
	gate, err := fence.New(status)
	if err != nil {
		return err
	}
	gated := rest.CopyConfig(config)
	gated.ContentType = "application/json" // a body that the gate can stamp
	gated.Wrap(gate.Stamping)
	client, err := coreclient.NewForConfig(gated)
	if err != nil {
		return err
	}
	c.configMaps = client.ConfigMaps(namespace)
	c.informer = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (object, error) {
			o.LabelSelector = "greet=true"
			return c.configMaps.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watcher, error) {
			o.LabelSelector = "greet=true"
			return c.configMaps.Watch(ctx, o)
		},
	}, &corev1.ConfigMap{}, 0, cache.Indexers{})
	if _, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.changed(o) },
		UpdateFunc: func(_, o any) { c.changed(o) },
	}); err != nil {
		return err
	}

	// The informer runs on every member, from here to the end of the process.
	var informer sync.WaitGroup
	defer informer.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	informer.Go(func() { c.informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		return errors.New("stopped before the cache was filled")
	}
	fmt.Println("warm")
	return m.Run(ctx)
}
