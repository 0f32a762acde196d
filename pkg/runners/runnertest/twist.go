//go:build linux

package runnertest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Twist is what a process does to itself before it works. It makes the process harder to find, to
// signal or to tie to its parent.
type Twist string

// Each process of the work does its twist as far as it may; a step that the kernel refuses is left
// out.
const (
	Plain Twist = "plain"
	// Lower: it becomes another user, as programs do that root starts.
	Lower Twist = "lower"
	// Setuid and Capable: it executes a file that belongs to root and has the set-user-ID bit, or a
	// file with capabilities.
	Setuid  Twist = "setuid"
	Capable Twist = "capable"
	// Hide: other processes may not look at it (PR_SET_DUMPABLE), as agents that hold keys do.
	Hide Twist = "hide"
	// Halt: it stops itself (SIGSTOP) once it has begun.
	Halt Twist = "halt"
	// Inherit: it becomes the parent of its orphaned descendants.
	Inherit Twist = "inherit"
	// Cut: it asks the kernel not to kill it when its parent dies (PR_SET_PDEATHSIG).
	Cut Twist = "cut"
)

// Twists are all twists.
var Twists = []Twist{Plain, Lower, Setuid, Capable, Hide, Halt, Inherit, Cut}

const (
	twistVariable = "RUNNERTEST_TWIST"
	// folderVariable names the folder of the binaries that some twists execute.
	folderVariable = "RUNNERTEST_FOLDER"
	twistedAlready = "RUNNERTEST_TWISTED"

	// lowered is the user that the twist Lower changes to. The user owns no other process on any
	// machine where this is tested.
	lowered = 54323
)

// twist does the twist that the environment names, if any.
func twist() error {
	switch Twist(os.Getenv(twistVariable)) {
	case Lower:
		// Groups first: afterwards the new user may not change them.
		_ = syscall.Setgroups([]int{})
		_ = syscall.Setresgid(lowered, lowered, lowered)
		if err := syscall.Setresuid(lowered, lowered, lowered); err == nil && os.Getuid() != lowered {
			return fmt.Errorf("it is user %d still", os.Getuid())
		}
	case Hide:
		return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	case Inherit:
		return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	case Cut:
		return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
	}
	return nil
}

// halt stops this process if its twist is Halt.
func halt() {
	if Twist(os.Getenv(twistVariable)) == Halt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// reexecute executes the file that the twist needs, once. It must come first.
func reexecute() {
	name := binaries[Twist(os.Getenv(twistVariable))]
	if name == "" || os.Getenv(twistedAlready) != "" {
		return
	}
	path := filepath.Join(os.Getenv(folderVariable), name)
	if err := syscall.Exec(path, os.Args[:1], append(os.Environ(), twistedAlready+"=yes")); err != nil {
		fmt.Fprintln(os.Stderr, "execute", path, err)
		os.Exit(96)
	}
}

// Program returns the path of the program that does the work: this program, which calls Become.
func (w Work) Program() (string, error) {
	if w.Folder == "" {
		return os.Executable()
	}
	return filepath.Join(w.Folder, plainBinary), nil
}

const plainBinary = "work"

// binaries are the copies of this program that twists execute.
var binaries = map[Twist]string{Setuid: "work.setuid", Capable: "work.capable"}
