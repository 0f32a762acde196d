package plugin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/plugin"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

// TestOtherUser checks that a plugin that runs as another user can talk to us, works, and is killed
// if it ignores its stop.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may start programs of another user")
	}
	stage := runnertest.NewStage(t)
	for dir := filepath.Dir(stage.Pipe); strings.Contains(dir, t.Name()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // #nosec G302 -- others are to find the stage
			t.Fatal(err)
		}
	}
	if err := os.Chmod(stage.Pipe, 0o666); err != nil { // #nosec G302 -- and to enter it
		t.Fatal(err)
	}
	p := plugin.Plugin{
		Name: "work", Program: testPlugin(t), StopGrace: 100 * time.Millisecond,
		Env: environment(runnertest.Work{Act: runnertest.Ignore, Pipe: stage.Pipe}),
		Confinement: deadman.Confinement{
			User:   &deadman.User{UID: 54321, GID: 54322},
			Limits: []deadman.Limit{{Resource: deadman.OpenFiles, Soft: 256, Hard: 256}},
		},
	}
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- plugin.New(p).Run(ctx, term(time.Hour)) }()
	stage.Await("began")
	cancel()
	stage.Await("ignored")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if stage.Alive() {
		t.Error("the plugin lives")
	}
}
