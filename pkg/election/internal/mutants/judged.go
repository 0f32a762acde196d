package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// A mutant may break the very rule by which processes end, and a test of processes starts some that leave its session.
// So each run of a test binary has a parent process. The parent inherits whatever the run leaves, kills it, and ends only
// when nothing of it lives.

// judgedVariable names the test binary that this process becomes.
const judgedVariable = "PRIMACY_JUDGED"

// Exit statuses of a run that is no run. A test binary has none of them.
const (
	notStarted = 125
	notEnded   = 124
)

// dying is how long the kernel may take to end what a run has left.
const dying = time.Minute

// init makes this process the parent of a run, or the run itself, if it was started as one. It is an init, so that every
// program that can judge can also be a parent.
func init() {
	binary, is := os.LookupEnv(judgedVariable)
	if !is {
		return
	}
	if dead := parent.Bereaved(); dead != nil {
		ctx, cancel := context.WithTimeout(context.Background(), dying)
		defer cancel()
		if err := dead.Proved(ctx); err != nil {
			fail(notEnded, err)
		}
		dead.Exit(ctx)
	}
	_, err := parent.Start(parent.Options{Cgroup: cgroup.Never})
	if err != nil && !errors.Is(err, parent.ErrUnsupported) { // elsewhere than on Linux nothing kills what a run leaves
		fail(notStarted, err)
	}
	_ = os.Unsetenv(judgedVariable)
	fail(notStarted, syscall.Exec(binary, append([]string{binary}, os.Args[1:]...), os.Environ())) // #nosec G204 -- we compiled it
}

func fail(status int, err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(status)
}

// judged is a command that runs a test binary below a parent.
func judged(ctx context.Context, binary string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	c := exec.CommandContext(ctx, self, args...)
	c.Env = append(os.Environ(), judgedVariable+"="+binary)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // the parent passes it on
	c.WaitDelay = dying
	return c, nil
}
