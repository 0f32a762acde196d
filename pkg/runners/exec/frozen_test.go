//go:build linux

package exec_test

import (
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

// TestFrozenWhileStarting checks that a member that is frozen while it starts a program goes on, if
// the program was dead in time.
func TestFrozenWhileStarting(t *testing.T) {
	for range 20 {
		if frozenWhileStarting(t) {
			return
		}
	}
	t.Error("the program never began just while this process was frozen")
}

// frozenWhileStarting freezes this process during a start. It reports false if the freeze came too
// early or too late.
func frozenWhileStarting(t *testing.T) bool {
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	timing.LeaseDuration, timing.RenewInterval, timing.StopGrace = 2*time.Second, 300*time.Millisecond, 500*time.Millisecond
	aborted := make(chan error, 1)
	m, err := election.NewManager(election.Config{
		Group: "edge", Host: "m1", Member: election.Member{Revision: "r"}, Locks: memory.New(clock.Boottime()).Store(), Timing: timing,
		Abort: func(err error) { aborted <- err },
	})
	if err != nil {
		t.Fatal(err)
	}
	began := filepath.Join(t.TempDir(), "began")
	work := &once{returned: make(chan struct{}), runner: exec.New(exec.Command{
		Args: []string{"sh", "-c", `echo > "$0"; sleep 300`, began}, StopGrace: timing.StopGrace,
	})}
	if _, err := m.Add(election.Spec{Name: "e", Bootstrap: election.BootstrapImmediate}, work); err != nil {
		t.Fatal(err)
	}
	others := guards(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	guard := 0
	for guard == 0 {
		runtime.Gosched()
		for pid := range guards(t) {
			if !others[pid] {
				guard = pid
			}
		}
	}
	if err := syscall.Kill(guard, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(began)
	late := err == nil
	// The script wakes the guard once this process is frozen, and this process when the term is long over.
	thaw := osexec.Command("sh", "-c", `until grep -q "^State:.T" /proc/$0/status; do :; done; kill -CONT $1; sleep 4; kill -CONT $0`, strconv.Itoa(os.Getpid()), strconv.Itoa(guard))
	if err := thaw.Start(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := thaw.Wait(); err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(began)
	never := err != nil // this process was frozen before its guard learned of the program
	<-work.returned
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	select {
	case err := <-aborted:
		t.Errorf("aborted: %v", err)
	default:
	}
	return !late && !never
}

// once runs a program in the first term only, and reports when that run has returned.
type once struct {
	runner   election.Runner
	returned chan struct{}
}

func (o *once) Contained() bool { return true }

func (o *once) Run(ctx context.Context, term election.Term) error {
	if term.Cycle > 1 {
		<-ctx.Done()
		return nil
	}
	defer close(o.returned)
	return o.runner.Run(ctx, term)
}

// guards returns the guards below this process.
func guards(t *testing.T) map[int]bool {
	t.Helper()
	found := map[int]bool{}
	for _, pid := range runnertest.Children(t, os.Getpid()) {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err == nil && strings.HasPrefix(string(line), "primacy-guard") {
			found[pid] = true
		}
	}
	return found
}
