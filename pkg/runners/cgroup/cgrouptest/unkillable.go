//go:build linux

package cgrouptest

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Unkillable starts a process that lives on after SIGKILL until the test calls release, as one does that hangs in a file system:
// its tracer, the thread of the test, stops it at its end. Call both on the goroutine of the test.
func Unkillable(t *testing.T) (c *exec.Cmd, release func()) {
	t.Helper()
	runtime.LockOSThread()
	c = exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	release = sync.OnceFunc(func() {
		defer runtime.UnlockOSThread()
		_ = c.Process.Kill()
		_, _ = unix.Wait4(pid, nil, 0, nil) // it stops at its end
		_ = unix.PtraceDetach(pid)
		_ = c.Wait()
	})
	t.Cleanup(release)
	if _, err := unix.Wait4(pid, nil, 0, nil); err != nil { // it stops at its beginning
		t.Fatal(err)
	}
	if err := errors.Join(unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACEEXIT), unix.PtraceCont(pid, 0)); err != nil {
		t.Fatal(err)
	}
	return c, release
}
