//go:build linux

package parent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

// These environment variables tell a process its part. Each process removes them at its start.
const (
	parentVariable = "PRIMACY_PARENT"      // the process id of the parent, and the Options
	childVariable  = "PRIMACY_PARENT_LINE" // a start
)

// start is what a parent tells its member at the start.
type start struct {
	// Descriptor is the member's end of the line.
	Descriptor int
	// Parent is the parent's process id.
	Parent int
	// Cgroup is the member's control group, if it has one for itself, and Mode says whether it must.
	Cgroup string      `json:",omitempty"`
	Mode   cgroup.Mode `json:",omitempty"`
	// Trees says which limits programs may have together with all that they start.
	Trees cgroup.Trees
	// Left are the sessions of members that died with their parents, and of which nothing is left.
	Left []Session `json:",omitempty"`
	// LivesOn says what is left of others.
	LivesOn []string `json:",omitempty"`
}

// part is the part of this process, as its environment says.
var part struct {
	// dead is set in a parent whose member has died.
	dead *Dead
	// line is set in a member.
	line *Line
	// err is why the part could not be played.
	err error
}

func init() {
	if of, is := os.LookupEnv(parentVariable); is {
		_ = os.Unsetenv(parentVariable)
		if pid, mode, _ := strings.Cut(of, ","); pid == strconv.Itoa(os.Getpid()) {
			rename()
			part.dead, part.err = watchOver(cgroup.Mode(mode))
		}
	}
	if text, is := os.LookupEnv(childVariable); is {
		_ = os.Unsetenv(childVariable)
		rename()
		part.line, part.err = takeLine(text)
	}
}

// rename gives this process the name by which it was started, which executing it by another path has changed.
func rename() { _ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0) }

// Bereaved is what this process knows of its member, once that has died. It is nil in every other process. A
// program that calls Start must ask it first.
func Bereaved() *Dead { return part.dead }

// Start gives this process a parent, and returns in the member. It executes the program from its beginning, once
// for the parent and once for the member, so call it before anything that must not happen twice, such as reading
// a pipe. In the parent main begins when the member has died, and Bereaved says so. An error means that there is
// no parent; it wraps ErrChildren if this process has children already, or cgroup.ErrIndivisible; beside Linux it is
// ErrUnsupported.
func Start(o Options) (*Line, error) {
	switch {
	case part.err != nil:
		return nil, part.err
	case part.line != nil:
		return part.line, nil
	}
	if err := deadman.SeeProcesses(); err != nil { // nobody could kill what a dead member leaves
		return nil, err
	}
	switch children, err := deadman.Children(); {
	case err != nil:
		return nil, err
	case len(children) > 0:
		return nil, fmt.Errorf("%w: %d", ErrChildren, len(children))
	}
	runtime.LockOSThread() // only the thread that executes the program goes on in it
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(deathSignal), 0, 0, 0); err != nil {
		return nil, fmt.Errorf("be told of the end of whoever started this process: %w", err)
	}
	err := syscall.Exec(executable, os.Args, append(os.Environ(), fmt.Sprintf("%s=%d,%s", parentVariable, os.Getpid(), o.Cgroup)))
	return nil, fmt.Errorf("execute this program again: %w", err)
}

// deathSignal is the signal that the kernel sends when whoever started this process ends, as he has asked it to; zero for
// none. The kernel keeps that for each thread: packages are initialized on the thread with which the process began.
var deathSignal = func() (signal int32) {
	if err := unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&signal)), 0, 0, 0); err != nil { // #nosec G103 -- the kernel writes a C int
		return 0
	}
	return signal
}()

// executable is this very program, even if its file was replaced meanwhile.
const executable = "/proc/self/exe"

// watchOver starts the member, and returns when it has died. It is the parent's whole life until then.
func watchOver(mode cgroup.Mode) (d *Dead, err error) {
	group, left, err := cgroup.Divide(mode)
	s := start{Parent: os.Getpid(), Mode: mode, Left: sessionsIn(left.Notes), LivesOn: left.LivesOn}
	switch {
	case err != nil && mode == cgroup.Always:
		return nil, err
	case err != nil:
		s.Trees.Why = err.Error()
	case group != nil:
		s.Cgroup, s.Trees = group.Path, group.Trees
		defer func() {
			if err != nil {
				_ = group.Remove()
			}
		}()
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become a subreaper: %w", err)
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make the line to the member: %w", err)
	}
	signals := make(chan os.Signal, 16)
	forget := notify(signals)
	defer func() {
		if err != nil { // this process goes on as a member without a parent
			forget()
			_, _ = unix.Close(ends[0]), unix.Close(ends[1])
		}
	}()
	// The member inherits its end of the line at the same number, and all else that is not close-on-exec: what a
	// service manager hands over, or a shell opened.
	if _, err := unix.FcntlInt(uintptr(ends[1]), unix.F_SETFD, 0); err != nil { // #nosec G115 -- a descriptor
		return nil, fmt.Errorf("make the line to the member: %w", err)
	}
	s.Descriptor = ends[1]
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("start the member: %w", err)
	}
	pid, err := syscall.ForkExec(executable, os.Args, &syscall.ProcAttr{
		Env:   append(os.Environ(), fmt.Sprintf("%s=%s", childVariable, text)),
		Files: []uintptr{0, 1, 2},
	})
	if err != nil {
		return nil, fmt.Errorf("start the member: %w", err)
	}
	_ = unix.Close(ends[1])
	d = &Dead{member: pid, group: group, line: os.NewFile(uintptr(ends[0]), "line"), died: make(chan struct{}), over: make(chan struct{}), hurried: make(chan struct{})}
	go d.passOn(clock.Boottime(), signals)
	go d.reap()
	d.listen()
	<-d.died
	return d, nil
}

// takeLine takes up the member's end of the line.
func takeLine(text string) (*Line, error) {
	var s start
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("%s: %w", childVariable, err)
	}
	unix.CloseOnExec(s.Descriptor)
	if s.Cgroup != "" {
		switch err := cgroup.Join(cgroup.MemberOf(s.Cgroup)); {
		case err != nil && s.Mode == cgroup.Always:
			return nil, fmt.Errorf("%w: %w", cgroup.ErrIndivisible, err)
		case err != nil: // its parent may have died meanwhile, which only the line tells
			s.Cgroup, s.Trees = "", cgroup.Trees{Why: err.Error()}
		}
	}
	deadman.Within(s.Cgroup, s.Trees)
	for _, whom := range []string{"LISTEN_PID", "WATCHDOG_PID"} {
		if os.Getenv(whom) == strconv.Itoa(s.Parent) { // what was meant for our parent is ours
			_ = os.Setenv(whom, strconv.Itoa(os.Getpid()))
		}
	}
	if err := unix.SetNonblock(s.Descriptor, true); err != nil {
		return nil, fmt.Errorf("%s: %w", childVariable, err)
	}
	return &Line{Cgroup: s.Cgroup, Left: s.Left, LivesOn: s.LivesOn, file: os.NewFile(uintptr(s.Descriptor), "line"), broken: make(chan struct{})}, nil // #nosec G115 -- a descriptor
}
