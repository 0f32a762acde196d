//go:build linux

package deadman

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

func init() { roles["asks"] = asks }

// TestSessionsThatNobodyTells checks that nothing counts as dead because a filter, or a security module, does not let us ask
// for a session.
func TestSessionsThatNobodyTells(t *testing.T) {
	for _, tt := range []struct {
		whose string
		errno syscall.Errno
		found bool
	}{
		{"a child's", unix.EPERM, true},
		{"a child's", unix.EACCES, true},
		{"a child's", unix.ESRCH, false}, // it is gone
		{"a watcher's", unix.EPERM, false},
		{"our own", unix.EPERM, true},
		{"our own, beside a watcher", unix.EPERM, false},
	} {
		t.Run(fmt.Sprintf("%s, %v", tt.whose, tt.errno), func(t *testing.T) {
			withRole(t, "asks", tt.whose, strconv.Itoa(int(tt.errno)), strconv.FormatBool(tt.found))
		})
	}
}

// asks looks for orphans where getsid does not tell the session of its first argument, and fails with the errno of its second.
func asks() error {
	errno, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	if err := Adopt(); err != nil {
		return err
	}
	child := exec.Command("/bin/sleep", "300") // in our session, so it is no orphan
	if err := child.Start(); err != nil {
		return err
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	of := uint32(child.Process.Pid) // #nosec G115 -- a process id
	if strings.HasPrefix(os.Args[1], "our own") {
		of = 0
	}
	if strings.Contains(os.Args[1], "watcher") {
		watches(child.Process.Pid)
	}
	if err := filter(unix.ENOSYS, unless(unix.SYS_GETSID, 3), load(firstArgument), unless(of, 1), answering(syscall.Errno(errno))); err != nil {
		return err
	}
	if found := killOrphans(); strconv.FormatBool(found) != os.Args[3] {
		return fmt.Errorf("orphans found: %t, want %s", found, os.Args[3])
	}
	if !alive(child.Process.Pid) {
		return fmt.Errorf("child %d was killed, and may be no orphan", child.Process.Pid)
	}
	return nil
}

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
