// Package elector is client-go's leader elector as its users run it, with work that reports
// when it began and ended. It is for tests, and compiles with client-go 0.26 and later.
package elector

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Options are one candidate in the elections of a namespace.
type Options struct {
	Identity  string
	Namespace string
	// Locks are the names of the Leases.
	Locks []string

	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	ReleaseOnCancel bool
	// Again makes it a candidate again after it lost a lock.
	Again bool
}

// Event is what a candidate reports about itself and its work.
type Event struct {
	Lock string
	Kind Kind
	// At is the worker's own time.
	At record.Instant
	// Token is the term's token; electors of client-go have none.
	Token record.Token
	// Reason is why the work ended, where that is known.
	Reason string
	// Holder is who was seen to hold the lock.
	Holder string
}

// Kind tells events apart.
type Kind string

const (
	Begin Kind = "begin"
	End   Kind = "end"
	// Sees: the candidate itself, not its work, reports who holds the lock.
	Sees Kind = "sees"
)

// Run takes part until ctx ends; it returns when all work has ended. say may be called
// from several goroutines at once.
func Run(ctx context.Context, config *rest.Config, o Options, say func(Event)) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return err
	}
	errs := make([]error, len(o.Locks))
	var all sync.WaitGroup
	for i, lock := range o.Locks {
		all.Add(1)
		go func() {
			defer all.Done()
			for {
				errs[i] = stand(ctx, leases, o, lock, say)
				if errs[i] != nil || ctx.Err() != nil || !o.Again {
					return
				}
			}
		}()
	}
	all.Wait()
	return errors.Join(errs...)
}

// stand runs one elector, once.
func stand(ctx context.Context, leases coordinationv1client.LeasesGetter, o Options, lock string, say func(Event)) error {
	var work sync.WaitGroup
	now := clock.Boottime().Now
	le, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: lock,
		Lock: &told{won: func() { work.Add(1) }, LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: lock},
			Client:     leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
		}},
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
		ReleaseOnCancel: o.ReleaseOnCancel,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				defer work.Done()
				if ctx.Err() != nil {
					return // client-go calls this on a goroutine that may start late
				}
				say(Event{Lock: lock, Kind: Begin, At: now()})
				<-ctx.Done()
				say(Event{Lock: lock, Kind: End, At: now()})
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(holder string) { say(Event{Lock: lock, Kind: Sees, Holder: holder, At: now()}) },
		},
	})
	if err != nil {
		return fmt.Errorf("elector of %s: %w", lock, err)
	}
	le.Run(ctx)
	work.Wait()
	return nil
}

// told is a lock that calls won when the elector becomes the leader. Nothing else says, before the
// work's goroutine starts, that there will be work to wait for.
type told struct {
	*resourcelock.LeaseLock
	won func()
}

// RecordEvent implements resourcelock.Interface.
func (l *told) RecordEvent(s string) {
	if s == "became leader" {
		l.won()
	}
	l.LeaseLock.RecordEvent(s)
}

// Quiet keeps client-go's log off standard error.
func Quiet() error {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(flags)
	klog.SetOutput(io.Discard)
	return errors.Join(flags.Set("logtostderr", "false"), flags.Set("stderrthreshold", "FATAL"))
}

// Main is Run as a process: the arguments are a kubeconfig and Options as JSON. The process writes
// events as lines of JSON to standard output, and leaves when its standard input ends.
func Main(args []string) error {
	return Serve(args, func(ctx context.Context, config *rest.Config, options string, say func(Event)) error {
		var o Options
		if err := json.Unmarshal([]byte(options), &o); err != nil {
			return err
		}
		return Run(ctx, config, o, say)
	})
}

// Serve is Main for any kind of candidate, which run runs.
func Serve(args []string, run func(ctx context.Context, config *rest.Config, options string, say func(Event)) error) error {
	if err := Quiet(); err != nil {
		return err
	}
	if len(args) != 2 {
		return fmt.Errorf("want a kubeconfig and options, got %d arguments", len(args))
	}
	config, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with the process, if not before
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var mu sync.Mutex
	lines := json.NewEncoder(os.Stdout)
	return run(ctx, config, args[1], func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		if err := lines.Encode(e); err != nil {
			panic(err) // work that is not reported proves nothing
		}
	})
}
