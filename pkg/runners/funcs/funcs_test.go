package funcs_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	runnertest.Test(t, runnertest.Kind{
		New:  func(_ *testing.T, w runnertest.Work) election.Runner { return election.RunnerFunc(w.Run) },
		Acts: runnertest.InProcess,
	})
}
