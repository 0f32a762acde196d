package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// TestBuiltAndRun builds the program as a user would, and checks that its function leads on a real
// API server.
func TestBuiltAndRun(t *testing.T) {
	cluster := devcluster.Start(t)
	binary := filepath.Join(t.TempDir(), "own-binary")
	// A build without the race detector may have to compile all that the program imports, which takes minutes.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as the Makefile builds
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, binary, "validate", "-f", "primacy.yaml").CombinedOutput(); err != nil {
		t.Fatalf("validate: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, binary, "run", "--config", "primacy.yaml", "--name", "own",
		"--kubeconfig", cluster.Kubeconfig, "--namespace", cluster.Namespace(t))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "leading greeting with token ") {
		t.Errorf("it says %q", lines.Text())
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if !lines.Scan() || lines.Text() != "stopped leading greeting" {
		t.Errorf("at its end it says %q", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
