package exec_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

// managerVariable carries the command that this process is to run as a manager would.
const managerVariable = "EXECTEST_MANAGER"

// becomeManager runs a command until this process is killed, if the environment asks
// for it.
func becomeManager() {
	text := os.Getenv(managerVariable)
	if text == "" {
		return
	}
	time.AfterFunc(time.Minute, func() { os.Exit(99) })
	var c exec.Command
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	err := exec.New(c).Run(context.Background(), term(time.Hour))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(97)
}

// term is one that is valid for so long.
func term(valid time.Duration) election.Term {
	deadline := clock.Boottime().Now().Add(valid)
	return election.NewTerm(election.Term{Election: "e", Identity: "host_1", Revision: "1-0", Token: 7}, election.NewValidity(deadline))
}

func TestProgramDiesWithItsManager(t *testing.T) {
	stage := runnertest.NewStage(t)
	c := command(t, runnertest.Work{Act: runnertest.Ignore, Pipe: stage.Pipe}, nil)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	manager := osexec.Command(c.Args[0])
	manager.Env = append(os.Environ(), managerVariable+"="+string(text))
	manager.Stderr = os.Stderr
	if err := manager.Start(); err != nil {
		t.Fatal(err)
	}
	stage.Await("began")
	if err := manager.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = manager.Wait()
	stage.AwaitEmpty()
}
