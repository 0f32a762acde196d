//go:build linux

package parent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// foreignVariable names a process in whose process namespace a member's program starts something. If plainVariable is set,
// the program makes no process namespace.
const (
	foreignVariable = "PARENT_TEST_FOREIGN"
	plainVariable   = "PARENT_TEST_PLAIN"
)

// killAfter is when a program dies whose term nobody extends. A busy machine may take long to start all processes, and
// the test waits for them for its patience.
const killAfter = 90 * time.Second

// works is a member that runs a program, as primacy does.
func works(l *parent.Line) int {
	if err := deadman.Adopt(); err != nil {
		panic(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, roleVariable+"=") })
	kill := clock.Boottime().Now().Add(killAfter)
	p, err := deadman.Start(context.Background(), deadman.Program{
		Path: "/proc/self/exe", Args: []string{"program"}, Env: append(env, roleVariable+"=program"), Files: []*os.File{null, null, os.Stderr},
	}, kill)
	if err != nil {
		panic(err)
	}
	write("kill", int64(kill))
	write("watchers", fmt.Sprintln(p.Guard(), p.Supervisor(), p.Pid()))
	select {
	case <-p.Dead():
	case <-l.Broken():
		p.Kill()
		p.Wait()
	}
	return 0
}

// helpers are the sorts of processes that a program starts, and how many of each write their process ids.
func helpers(getenv func(string) string) (sorts []string, n int) {
	sorts, n = []string{"plain", "session", "twice", "reaper", "stopped", "deaf"}, begotten
	if os.Geteuid() == 0 && getenv(plainVariable) == "" { // others may make no process namespace
		sorts, n = append(sorts, "namespace"), n+4
	}
	if getenv(foreignVariable) != "" {
		sorts, n = append(sorts, "stray"), n+2
	}
	return sorts, n
}

// toil is the program.
func toil() {
	sorts, _ := helpers(os.Getenv)
	beget(sorts...)
	wait()
}

// ownID is the process id of this process as /proc shows it: in a process namespace it has another one.
func ownID() string {
	id, err := os.Readlink("/proc/self")
	if err != nil {
		panic(err)
	}
	return id
}

// inhabit makes a process namespace, whose first process has a detached child, and then enters it.
func inhabit() {
	c := descendant("inner")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	if err := c.Start(); err != nil {
		panic(err)
	}
	enter(c.Process.Pid)
}

// enter starts a detached process in the process namespace of another process.
func enter(of int) {
	runtime.LockOSThread() // for good: this thread's children are born in that namespace
	ns, err := os.Open(filepath.Join("/proc", strconv.Itoa(of), "ns/pid"))
	if err != nil {
		panic(err)
	}
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWPID); err != nil {
		panic(err)
	}
	beget("twice")
}

// descendant is a command that starts a descendant.
func descendant(sort string) *exec.Cmd {
	c := exec.Command("/proc/self/exe", sort)
	c.Env = append(os.Environ(), roleVariable+"=descendant")
	return c
}

// leaks is a member whose descendant has all its open descriptors: the line to its parent, too.
func leaks(*parent.Line) int {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	sockets := 0
	for _, d := range open {
		fd, err := strconv.Atoi(d.Name())
		if err != nil || fd < 3 {
			continue
		}
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", d.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			sockets++
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0) // #nosec G115 -- a descriptor
		}
	}
	write("leaked", sockets)
	return begets(nil)
}

// holdOn keeps a parent at the moment of its proof until the judge has looked.
func holdOn() {
	_, _ = pipe("looked").Read(make([]byte, 1))
}
