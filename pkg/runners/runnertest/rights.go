//go:build linux

package runnertest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// rights says what a member may do, and which processes it sees.
type rights struct {
	name string
	// lacks are capabilities that no process of the member can gain.
	lacks []uintptr
	// user is the user that the member runs as; 0 for root.
	user int
	// proc is how /proc is mounted; empty leaves it as it is.
	proc string
	// refuses is part of the error with which the member must refuse every program; empty if it must
	// run programs.
	refuses string
}

const (
	somebody = 54321

	noProc = "none"
	// foreignProc is a /proc of another process namespace.
	foreignProc = "foreign"
)

var allRights = []rights{
	{name: "root"},
	{name: "root without CAP_KILL", lacks: []uintptr{unix.CAP_KILL}, refuses: "CAP_KILL"},
	{name: "root without CAP_SETUID", lacks: []uintptr{unix.CAP_SETUID}},
	{name: "root without CAP_KILL, CAP_SETUID", lacks: []uintptr{unix.CAP_KILL, unix.CAP_SETUID}},
	{name: "root without CAP_SYS_PTRACE, hidepid=1", lacks: []uintptr{unix.CAP_SYS_PTRACE}, proc: "hidepid=1"},
	{name: "somebody", user: somebody},
	{name: "somebody, hidepid=1", user: somebody, proc: "hidepid=1"},
	{name: "somebody, hidepid=2", user: somebody, proc: "hidepid=2"},
	{name: "root, no /proc", proc: noProc, refuses: "/proc"},
	{name: "root, /proc of others", proc: foreignProc, refuses: "/proc"},
}

const rightsVariable = "RUNNERTEST_RIGHTS"

// command starts this program with these rights, for root only.
func (r rights) command(program string) *exec.Cmd {
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), rightsVariable+"="+r.name)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if r.proc != "" {
		cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS
	}
	if r.proc == foreignProc {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
	}
	return cmd
}

// takeRights gives up the rights that the environment names, and executes this program again without
// those rights. It returns if there is nothing to give up.
func takeRights() error {
	name := os.Getenv(rightsVariable)
	if name == "" {
		return nil
	}
	runtime.LockOSThread() // this thread gives up its rights and then executes the program
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Unsetenv(rightsVariable); err != nil {
		return err
	}
	for _, r := range allRights {
		if r.name != name {
			continue
		}
		if err := r.take(); err != nil {
			return err
		}
		return fmt.Errorf("execute %s: %w", self, syscall.Exec(self, os.Args, os.Environ()))
	}
	return fmt.Errorf("nobody has the rights %q", name)
}

func (r rights) take() error {
	switch r.proc {
	case "", foreignProc:
	case noProc:
		if err := unix.Mount("none", "/proc", "tmpfs", 0, ""); err != nil {
			return fmt.Errorf("hide /proc: %w", err)
		}
	default:
		if err := unix.Mount("proc", "/proc", "proc", 0, r.proc); err != nil {
			return fmt.Errorf("mount /proc with %s: %w", r.proc, err)
		}
	}
	for _, c := range r.lacks {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("drop a capability: %w", err)
		}
	}
	if r.user == 0 {
		return nil
	}
	if err := syscall.Setgroups([]int{}); err != nil {
		return err
	}
	if err := syscall.Setresgid(r.user, r.user, r.user); err != nil {
		return err
	}
	return syscall.Setresuid(r.user, r.user, r.user)
}
