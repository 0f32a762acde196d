package election_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// exampleConfig is a member in a realm of its own.
func exampleConfig() election.Config {
	return election.Config{
		Group: "edge", Host: "web-0", Member: election.Member{Revision: "1-9-0"},
		Locks: memory.New(clock.Boottime()).Store(), Log: zap.NewNop(),
	}
}

// A Manager can be watched while it runs: its Identity, its Status of each election, its Check for a probe, and, once it
// has stopped, its Err.
func ExampleManager() {
	m, err := election.NewManager(exampleConfig())
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	status, err := m.Add(election.Spec{Name: "sync", Bootstrap: election.BootstrapImmediate}, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
		fmt.Println("leads", term.Election, "under its own identity:", term.Identity == m.Identity())
		fmt.Println("alive:", m.Check(nil) == nil)
		stop()
		<-ctx.Done()
		return ctx.Err() // no error: the work was told to stop
	}))
	must(err)
	must(m.Run(ctx))
	fmt.Println("leads after Run:", status.IsLeader(), "error:", m.Err())
	// Output:
	// leads sync under its own identity: true
	// alive: true
	// leads after Run: false error: <nil>
}

// The context of a Runner says why its work must stop.
func ExampleStopOf() {
	m, err := election.NewManager(exampleConfig())
	must(err)
	ctx, shutDown := context.WithCancel(context.Background())
	_, err = m.Add(election.Spec{Name: "sync", Bootstrap: election.BootstrapImmediate}, election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		shutDown()
		<-ctx.Done()
		stop, told := election.StopOf(ctx)
		fmt.Println(told, stop.Reason)
		return nil
	}))
	must(err)
	must(m.Run(ctx))
	// Output: true member is leaving
}

// Status.Watch tells of each change, until the Manager has stopped.
func ExampleStatus_Watch() {
	m, err := election.NewManager(exampleConfig())
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	status, err := m.Add(election.Spec{Name: "sync", Bootstrap: election.BootstrapImmediate}, nil) // no work: only who leads matters
	must(err)
	changes := status.Watch(context.Background())
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	for change := range changes {
		if change.Event == election.EventRole {
			fmt.Println(change.Role)
		}
		if change.Role == election.Leading {
			stop()
		}
	}
	must(<-done)
	// Output:
	// leading
	// draining
	// following
}

// A Timing that names some fields gets the others from the named timing whose lease is next to its own.
func ExampleTiming() {
	t := election.Timing{LeaseDuration: 4 * time.Second, RenewInterval: time.Second}.Filled(election.Default())
	fmt.Println(t.StopGrace, t.Drift)
	// Output: 1s 0.005
}

// A logr.Logger, such as that of controller-runtime, takes what the Manager logs.
func ExampleLogr() {
	logger := funcr.New(func(_, line string) { fmt.Println(line) }, funcr.Options{})
	cfg := exampleConfig()
	cfg.Log = election.Logr(logger)
	cfg.Log.Warn("an example", zap.String("election", "sync"))
	// Output: "level"=0 "msg"="an example" "election"="sync" "level"="warning"
}

// A slog.Logger takes what the Manager logs.
func ExampleSlog() {
	cfg := exampleConfig()
	cfg.Log = election.Slog(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	cfg.Log.Warn("an example", zap.String("election", "sync"))
	// Output: level=WARN msg="an example" election=sync
}

// Errors of Add can be told apart.
func ExampleManager_Add() {
	m, err := election.NewManager(exampleConfig())
	must(err)
	_, err = m.Add(election.Spec{Name: "Not A Name"}, nil)
	fmt.Println(errors.Is(err, election.ErrInvalid))
	_, err = m.Add(election.Spec{Name: "sync"}, nil)
	must(err)
	_, err = m.Add(election.Spec{Name: "sync"}, nil)
	fmt.Println(errors.Is(err, election.ErrTaken))
	// Output:
	// true
	// true
}
