package app

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// library is a program of somebody who uses the library: library NAMESPACE NAME [steered].
func library() {
	if err := libraryMember(os.Args[1], os.Args[2], os.Args[3:]...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}

func libraryMember(namespace, name string, steered ...string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	locks, err := lease.NewClient(config)
	if err != nil {
		return err
	}
	c := election.Config{
		Group: "edge", Host: name, Member: election.Member{Revision: "1-9-0"}, Locks: lease.In(locks, namespace), Timing: election.Fast(),
	}
	if len(steered) > 0 {
		core, err := coreclient.NewForConfig(config)
		if err != nil {
			return err
		}
		c.Preferences = steering.New(core, namespace, c.Group, nil, nil, nil)
	}
	m, err := election.NewManager(c)
	if err != nil {
		return err
	}
	for _, e := range []string{"beats", "ticks"} {
		if _, err := m.Add(election.Spec{Name: e, Bootstrap: election.BootstrapImmediate}, election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
			fmt.Println("leading", e)
			<-ctx.Done()
			return nil
		})); err != nil {
			return err
		}
	}
	return m.Run(ctx)
}
