//go:build linux

package exec_test

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

func TestMain(m *testing.M) {
	become()
	runnertest.BecomeManager(func(w runnertest.Work) (election.Runner, error) {
		c, err := program(w, nil)
		if os.Getenv(confinedVariable) != "" {
			c.Confinement = confinement
		}
		return exec.New(c), err
	})
	runnertest.Become()
	goleak.VerifyTestMain(m)
}

// program runs the work as a program: this test binary.
func program(w runnertest.Work, log *zap.Logger) (exec.Command, error) {
	self, err := w.Program()
	c := exec.Command{Name: "work", Args: []string{self}, StopGrace: w.StopGrace, Log: log}
	for name, value := range w.Env() {
		c.Env = append(c.Env, name+"="+value)
	}
	return c, err
}

func command(t testing.TB, w runnertest.Work, log *zap.Logger) exec.Command {
	t.Helper()
	c, err := program(w, log)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// term returns a term that stays valid for the given time.
func term(valid time.Duration) election.Term {
	deadline := clock.Boottime().Now().Add(valid)
	term, _ := election.NewTerm(election.Term{Election: "e", Identity: "host_1", Revision: "1-0", Token: 7}, deadline)
	return term
}

func TestSuite(t *testing.T) {
	runnertest.Test(t, runnertest.Kind{
		Name: "exec",
		New: func(t *testing.T, w runnertest.Work) election.Runner {
			return exec.New(command(t, w, nil))
		},
		Acts: runnertest.Acts,
		Broken: func(*testing.T) election.Runner {
			return exec.New(exec.Command{Name: "work", Args: []string{"/does/not/exist"}})
		},
	})
}

func TestDeath(t *testing.T) { runnertest.TestDeath(t) }

func TestRights(t *testing.T) { runnertest.TestRights(t) }
