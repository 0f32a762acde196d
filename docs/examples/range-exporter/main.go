// Command range-exporter is an example: several members take the same samples, and exactly one sends
// each of them. The member whose range contains a sample's time sends it. Ranges of different terms
// never overlap, so whoever receives the samples gets none twice.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of a kubeconfig; empty in a Pod")
	namespace := flag.String("namespace", "default", "where the locks are")
	name := flag.String("name", "", "this member's name, unlike any other's (default: the host's)")
	profile := flag.String("profile", record.DefaultProfile, "timing profile")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *namespace, *name, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "range-exporter:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace, name, profile string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	timing, err := record.Profile(profile)
	if err != nil {
		return err
	}
	locks, err := lease.NewClient(config)
	if err != nil {
		return err
	}
	m, err := election.NewManager(election.Config{
		Group: "exporters", Host: name, Member: election.Member{Revision: "1-0"}, Timing: timing,
		Locks: lease.In(locks, namespace),
	})
	if err != nil {
		return err
	}
	// No runner: leadership itself is the product. Every member samples all the time.
	status, err := m.Add(election.Spec{Name: "samples", Range: true}, nil)
	if err != nil {
		return err
	}
	sampling, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		export(sampling, status, os.Stdout)
	}()
	defer func() { stop(); <-done }()
	return m.Run(ctx)
}

// export takes a sample ten times a second, and sends the samples in this member's range.
func export(ctx context.Context, status *election.Status, to io.Writer) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		at := time.Now() // taken once: the time that is judged is the time that is sent
		token := status.Token()
		if status.InRange(at) {
			fmt.Fprintf(to, "sample %d term %d\n", at.UnixMicro(), token)
		}
	}
}
