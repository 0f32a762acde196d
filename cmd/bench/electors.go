package main

import (
	"context"
	"flag"
	"fmt"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/primacy-dev/primacy/cmd/bench/death"
	"github.com/primacy-dev/primacy/cmd/bench/span"
)

// electorMember is the first argument with which bench runs as one member made of client-go's
// electors, one for each election, with client-go's defaults and ReleaseOnCancel: they release their
// locks at the end.
const electorMember = "electors"

func runElectors(args []string) error {
	var kubeconfig, namespace, name, spans, dies string
	var elections int
	flags := flag.NewFlagSet(electorMember, flag.ContinueOnError)
	flags.StringVar(&kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&namespace, "namespace", "", "")
	flags.StringVar(&name, "name", "", "")
	flags.StringVar(&spans, "spans", "", "file of the runners; empty for no runners")
	flags.StringVar(&dies, "dies", "", "the way in which it dies at a sign; empty for never")
	flags.IntVar(&elections, "elections", 1, "")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s: %w", electorMember, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS = -1
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	begin := func(string, uint64) error { return nil }
	if spans != "" {
		n, err := span.OpenNotes(spans)
		if err != nil {
			return err
		}
		begin = n.Begin
	}
	if dies != "" {
		defer death.Way(dies).AtSign()()
	}
	var leads, sees atomic.Int64
	var failed atomic.Pointer[error]
	ended := make(chan struct{}, elections)
	for i := range elections {
		seen := false // used on the elector's goroutine only, which makes one call at a time
		e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: electionName(i)},
				Client:     client,
				LockConfig: resourcelock.ResourceLockConfig{Identity: name},
			},
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					// client-go's terms have no tokens.
					if err := begin(electionName(i), 0); err != nil {
						failed.Store(&err)
					}
					leads.Add(1)
				},
				OnStoppedLeading: func() {},
				OnNewLeader: func(string) {
					if !seen {
						seen = true
						sees.Add(1)
					}
				},
			},
		})
		if err != nil {
			return fmt.Errorf("elector: %w", err)
		}
		go func() { // joined below
			e.Run(ctx)
			ended <- struct{}{}
		}()
	}
	answer(func() state { return state{Leads: int(leads.Load()), Sees: int(sees.Load())} })
	for range elections {
		<-ended
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
