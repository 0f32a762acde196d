package mutants_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/mutants"
)

// leavesVariable names a folder. A run of TestNothingOutlivesARun with it leaves a process.
const leavesVariable = "MUTANTS_TEST_LEAVES"

// TestNothingOutlivesARun judges itself: the run leaves a process in a session of its own, which ignores signals, has the
// run's output open, and lost its own parent.
func TestNothingOutlivesARun(t *testing.T) {
	if folder := os.Getenv(leavesVariable); folder != "" {
		const detached = `trap "" TERM HUP INT; setsid sh -c 'echo $$ > "$0/pid.new"; mv "$0/pid.new" "$0/pid"; while :; do sleep 60; done' "$0" & ` +
			`until [ -s "$0/pid" ]; do sleep 0.01; done`
		c := exec.Command("/bin/sh", "-c", detached, folder)
		c.Stderr = os.Stderr // not a pipe: Run would wait until the process has closed it
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux hands a parent what a run leaves")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	t.Setenv(leavesVariable, folder)
	verdict, out, err := mutants.Judge(t.Context(), self, repository(t), "pkg/election/internal/mutants", t.Name(), patience)
	if err != nil || verdict != mutants.Survived {
		t.Fatalf("%v, %v\n%s", verdict, err, out)
	}
	pid, err := os.ReadFile(filepath.Join(folder, "pid"))
	if err != nil {
		t.Fatal("this shows nothing: ", err)
	}
	if line, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "cmdline")); err == nil && strings.Contains(string(line), folder) {
		t.Errorf("process %s outlives its run", pid)
	}
}
