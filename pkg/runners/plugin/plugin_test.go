package plugin_test

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners/plugin"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

func TestSuite(t *testing.T) {
	runnertest.Test(t, runnertest.Kind{
		Name: "plugin",
		New:  func(t *testing.T, w runnertest.Work) election.Runner { return runner(testPlugin(t), w) },
		Acts: runnertest.Acts,
		Broken: func(t *testing.T) election.Runner {
			return plugin.New(plugin.Plugin{Name: "work", Program: testPlugin(t), Env: []string{actVariable + "=" + wrongCookie}})
		},
	})
}

func TestDeath(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // a killed manager leaves the folder of its sockets behind
	runnertest.TestDeath(t)
}

func TestRights(t *testing.T) { runnertest.TestRights(t) }
