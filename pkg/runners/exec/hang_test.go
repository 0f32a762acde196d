//go:build linux

package exec_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

// TestDeafSiblingOfAProgram runs a function, a program and a third runner whose failure stops the
// others. The function ignores its stop, so it ends the process by the deadline. The program is told
// to stop, and killed if it ignores the order. The lock is still held then.
func TestDeafSiblingOfAProgram(t *testing.T) {
	for _, act := range []runnertest.Act{runnertest.Obey, runnertest.Ignore} {
		t.Run(string(act), func(t *testing.T) {
			stage := runnertest.NewStage(t)
			timing, err := record.Profile("fast")
			if err != nil {
				t.Fatal(err)
			}
			aborted := make(chan error, 1)
			realm := memory.New(clock.Boottime())
			m, err := election.NewManager(election.Config{
				Group: "edge", Host: "m1", Member: election.Member{Revision: "r"}, Locks: realm.Store(), Timing: timing,
				Abort: func(err error) { aborted <- err },
			})
			if err != nil {
				t.Fatal(err)
			}
			work := runnertest.Work{Act: act, Pipe: stage.Pipe, StopGrace: timing.StopGrace}
			letGo, fail := make(chan struct{}), make(chan struct{})
			_, err = m.Add(election.Spec{Name: "e", Bootstrap: election.BootstrapImmediate}, runners.Supervise([]runners.Child{
				{Name: "work", Runner: exec.New(command(t, work, nil))},
				{Name: "deaf", Runner: election.RunnerFunc(func(context.Context, election.Term) error { <-letGo; return nil })},
				{Name: "bad", OnExit: runners.ExitRelease, Runner: election.RunnerFunc(func(context.Context, election.Term) error {
					<-fail
					return errors.New("bad luck")
				})},
			}, runners.Supervision{}))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			done := make(chan error)
			go func() { done <- m.Run(ctx) }()
			stage.Await("began")
			close(fail)
			if err := <-aborted; !strings.Contains(err.Error(), "did not stop within its grace") {
				t.Errorf("aborted with %v", err)
			}
			stage.AwaitEmpty() // though the function still runs
			if holder := realm.Read("e").Record.Holder; holder == "" {
				t.Error("the lock was released while a function works")
			}
			close(letGo) // here the process would have ended
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
