package exec_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

func TestMain(m *testing.M) {
	becomeManager()
	runnertest.Become()
	goleak.VerifyTestMain(m)
}

// command is the work as a program: this test binary.
func command(t testing.TB, w runnertest.Work, log *zap.Logger) exec.Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command{Name: "work", Args: []string{self}, StopGrace: w.StopGrace, Log: log}
	for name, value := range w.Env() {
		c.Env = append(c.Env, name+"="+value)
	}
	return c
}

func TestSuite(t *testing.T) {
	runnertest.Test(t, runnertest.Kind{
		New: func(t *testing.T, w runnertest.Work) election.Runner {
			return exec.New(command(t, w, nil))
		},
		Acts: runnertest.Acts,
		Broken: func(*testing.T) election.Runner {
			return exec.New(exec.Command{Name: "work", Args: []string{"/does/not/exist"}})
		},
	})
}
