package plugin_test

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/plugin"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/protocol"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

// Ways in which work ends while the plugin's process goes on.
const (
	saysAndHangs   = "says that it ended, and ignores SIGTERM"
	saysAndHalts   = "says that it ended, and stops itself"
	failsAndHangs  = "ends its run with an error, and ignores SIGTERM"
	hangsUp        = "ends its run without a word, and ignores SIGTERM"
	refusesToBegin = "is not ready in a term, and ignores SIGTERM"
)

var endings = []string{saysAndHangs, saysAndHalts, failsAndHangs, hangsUp, refusesToBegin}

// ending is a plugin whose work ends at once while its process goes on.
type ending struct {
	protocol.UnimplementedRunnerServer
	act string
}

func (ending) Describe(context.Context, *protocol.DescribeRequest) (*protocol.DescribeResponse, error) {
	return &protocol.DescribeResponse{Name: "x", Version: "1"}, nil
}

func (e ending) Ready(context.Context, *protocol.ReadyRequest) (*protocol.ReadyResponse, error) {
	if e.act == refusesToBegin {
		return &protocol.ReadyResponse{Problem: "not today"}, nil
	}
	return &protocol.ReadyResponse{}, nil
}

func (e ending) Run(s protocol.Runner_RunServer) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	switch e.act {
	case failsAndHangs:
		return status.Error(codes.Internal, "the database is gone")
	case hangsUp:
		return nil
	}
	err := s.Send(&protocol.RunEvent{Event: &protocol.RunEvent_Ended{Ended: &protocol.Ended{Problem: "the database is gone"}}})
	if e.act == saysAndHalts {
		clock.AfterFunc(100*time.Millisecond, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) })
	}
	return err
}

func (e ending) serve() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	go func() { // ends with the process
		for range told {
			if tell, err := runnertest.Enter(os.Getenv(pipeVariable)); err == nil {
				tell.Event("ignored")
			}
		}
	}()
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: protocol.Handshake, VersionedPlugins: protocol.Versions(e), GRPCServer: goplugin.DefaultGRPCServer,
	})
	select {}
}

// TestEndedWorkCostsTheTerm checks that work that has ended costs the term, although its process
// lives until it is killed. The kill does not count as a deadline.
func TestEndedWorkCostsTheTerm(t *testing.T) {
	for _, act := range endings {
		for onExit, starts := range map[runners.OnExit]int{runners.ExitRelease: 1, runners.ExitRestart: 3} {
			t.Run(act+"/"+string(onExit), func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				p := plugin.New(plugin.Plugin{
					Name: "work", Program: testPlugin(t), StopGrace: 200 * time.Millisecond, Log: zap.New(core),
					Env: environment(runnertest.Work{Act: runnertest.Act(act)}),
				})
				quick := runners.Restart{First: time.Millisecond, Most: time.Millisecond, Failures: 3}
				run := runners.Supervise([]runners.Child{{Name: "work", Runner: p, OnExit: onExit}}, runners.Supervision{Log: zap.New(core), Restart: quick})
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				err := run.Run(ctx, term(time.Hour))
				var gaveUp *runners.GaveUpError
				started := logs.FilterMessage("plugin started").Len()
				if !errors.As(err, &gaveUp) || errors.Is(err, runners.ErrDeadline) || started != starts {
					t.Errorf("started %d times, want %d; it returned %v", started, starts, err)
				}
				if told := logs.FilterMessageSnippet("deadline came").All(); len(told) > 0 {
					t.Errorf("it says of a deadline: %v", told)
				}
			})
		}
	}
}

// TestEndedWorkIsStopped stops a term whose work has ended: the plugin's process must be dead by the
// stop's instant, although its grace is longer.
func TestEndedWorkIsStopped(t *testing.T) {
	stage := runnertest.NewStage(t)
	p := plugin.New(plugin.Plugin{
		Name: "work", Program: testPlugin(t), StopGrace: time.Hour, Env: environment(runnertest.Work{Act: saysAndHangs, Pipe: stage.Pipe}),
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, term(time.Hour)) }()
	stage.Await("ignored")
	cancel(&election.Stop{Reason: "test", By: clock.Boottime().Now().Add(800 * time.Millisecond)})
	select {
	case <-done:
	case <-clock.NewTimer(20 * time.Second).C:
		t.Error("it lives long after it had to be dead")
	}
}
