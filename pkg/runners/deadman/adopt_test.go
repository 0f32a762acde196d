//go:build linux

package deadman

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestOrphanedSupervisorIsLeftToItsWork checks that the clean-up after one run does not kill
// supervisors of other runs that have lost their guards: they must kill their programs, since we may
// be frozen in the next moment.
func TestOrphanedSupervisorIsLeftToItsWork(t *testing.T) {
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var runs [2]*Process
	for i := range runs {
		runs[i], err = Start(t.Context(), Program{Path: "/bin/sleep", Args: []string{"sleep", "300"}, Files: []*os.File{null, null, null}}, clock.Boottime().Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
	}
	cleared, other := runs[0], runs[1]
	for _, s := range []struct {
		pid    int
		signal syscall.Signal
	}{{other.Supervisor(), syscall.SIGSTOP}, {other.Guard(), syscall.SIGKILL}, {cleared.Guard(), syscall.SIGKILL}} {
		if err := syscall.Kill(s.pid, s.signal); err != nil {
			t.Fatal(err)
		}
	}
	cleared.Wait()
	if !alive(other.Supervisor()) {
		t.Error("the supervisor of another run was killed")
	}
	_ = syscall.Kill(other.Supervisor(), syscall.SIGCONT)
	other.Wait()
	if alive(other.Supervisor()) || !empty(other.Pid()) {
		t.Error("something of the other run lives")
	}
}
