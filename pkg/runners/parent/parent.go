package parent

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// These environment variables tell a process its part. Each process removes them at its start.
const (
	parentVariable = "PRIMACY_PARENT"
	childVariable  = "PRIMACY_PARENT_LINE" // the descriptor of the line, and the parent's process id
)

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
	if _, is := os.LookupEnv(parentVariable); is {
		_ = os.Unsetenv(parentVariable)
		part.dead, part.err = watchOver()
	}
	if line, is := os.LookupEnv(childVariable); is {
		_ = os.Unsetenv(childVariable)
		part.line, part.err = takeLine(line)
	}
}

// Bereaved is what this process knows of its member, once that has died. It is nil in every other process. A
// program that calls Start must ask it first.
func Bereaved() *Dead { return part.dead }

// Start gives this process a parent, and returns in the member. It executes the program from its beginning, once
// for the parent and once for the member, so call it before anything that must not happen twice. In the
// parent main begins when the member has died, and Bereaved says so. An error means that there is no parent.
func Start() (*Line, error) {
	switch {
	case part.err != nil:
		return nil, part.err
	case part.line != nil:
		return part.line, nil
	}
	err := syscall.Exec(executable, os.Args, append(os.Environ(), parentVariable+"=1"))
	return nil, fmt.Errorf("execute this program again: %w", err)
}

// executable is this very program, even if its file was replaced meanwhile.
const executable = "/proc/self/exe"

// watchOver starts the member, and returns when it has died. It is the parent's whole life until then.
func watchOver() (*Dead, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become a subreaper: %w", err)
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make the line to the member: %w", err)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	files := append([]uintptr{0, 1, 2}, handed()...)
	pid, err := syscall.ForkExec(executable, os.Args, &syscall.ProcAttr{
		Env:   append(os.Environ(), fmt.Sprintf("%s=%d,%d", childVariable, len(files), os.Getpid())),
		Files: append(files, uintptr(ends[1])), // #nosec G115 -- a descriptor
	})
	if err != nil {
		return nil, fmt.Errorf("start the member: %w", err)
	}
	_ = unix.Close(ends[1])
	d := &Dead{member: pid, line: os.NewFile(uintptr(ends[0]), "line"), died: make(chan struct{}), over: make(chan struct{})}
	go d.passOn(signals)
	go d.reap()
	d.listen()
	<-d.died
	return d, nil
}

// handed are the descriptors that a service manager hands over, such as listening sockets.
func handed() (files []uintptr) {
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil
	}
	n, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || n < 0 || n > 1024 {
		return nil
	}
	for fd := range n {
		files = append(files, uintptr(3+fd)) // #nosec G115 -- small
	}
	return files
}

// takeLine takes up the member's end of the line.
func takeLine(text string) (*Line, error) {
	number, by, _ := strings.Cut(text, ",")
	fd, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", childVariable, err)
	}
	unix.CloseOnExec(fd)
	if os.Getenv("LISTEN_PID") == by { // what was meant for our parent is ours
		_ = os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("%s: %w", childVariable, err)
	}
	return &Line{file: os.NewFile(uintptr(fd), "line"), broken: make(chan struct{})}, nil // #nosec G115 -- a descriptor
}
