//go:build linux

package deadman

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestWatchersHaveTheirThreads checks that watchers have all the threads they need before the
// program, which may use up its user's threads, begins.
func TestWatchersHaveTheirThreads(t *testing.T) {
	p := begun(t)
	t.Cleanup(func() { p.Kill(); p.Wait() })
	for name, pid := range map[string]int{"supervisor": p.Supervisor(), "guard": p.Guard()} {
		threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil || len(threads) < spareThreads {
			t.Errorf("the %s has %d threads (%v) once the program runs, want %d", name, len(threads), err, spareThreads)
		}
	}
}

// TestFrozenGuardIsNotWaitedFor checks that we don't wait for a frozen guard that has nothing left to
// do, since the supervisor has killed all: the work would seem to outlast its term.
func TestFrozenGuardIsNotWaitedFor(t *testing.T) {
	p := begun(t)
	t.Cleanup(p.Kill)
	if err := syscall.Kill(p.Guard(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	within(t, p.killing, "nothing is killed")
	killed := clock.Boottime().Now()
	within(t, p.Dead(), "it lives")
	if took := clock.Boottime().Now().Sub(killed); took >= overdue {
		t.Errorf("it counts as dead %v after its end; its frozen guard was waited for", took)
	}
}
