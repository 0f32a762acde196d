//go:build linux

package deadman

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
)

// init makes this process a supervisor, and does not return, if it was started as one. It is an init,
// so that every program that can start a supervisor can also be one, whatever its main does.
func init() {
	if len(os.Args) == 1 && os.Args[0] == arg0 {
		runtime.LockOSThread() // the program dies when the thread that started it ends
		// os.Exit would wait a second for the race detector.
		syscall.Exit(supervise())
	}
}

// lookAgain is the time between two looks at killed processes that do not end.
const lookAgain = 50 * time.Millisecond

// supervisor is the process between ours and the program, or its guard. Its main goroutine owns it.
type supervisor struct {
	// pipe ends when our process closes it or dies; control reads from it.
	pipe    *os.File
	control *bufio.Reader
	report  *os.File
	alarm   clock.Alarm
	clock   clock.Clock
	// departed is what to report when the program has ended.
	departed fact
	// signals carries the signals to a supervisor, such as the one that says that its guard has
	// ended.
	signals chan os.Signal
	guard   int

	// program is the program's process id; 0 once the program is reaped.
	program int
	// within is the control group of the program alone, with all that it starts; empty for none.
	within string
	kill   record.Instant
	// stopping: we told the program to end. killing: nothing may live any more.
	stopping, killing bool
	// told: we reported killing.
	told bool
	// under is until when a guard looks at what lives below its supervisor; zero before the first look. idle counts the
	// looks in a row that found nothing.
	under record.Instant
	idle  int
}

// newSupervisor must be the first call in its process.
func newSupervisor(departed fact) *supervisor {
	makeThreads()
	pipe := os.NewFile(controlFD, "control")
	s := &supervisor{
		pipe: pipe, control: bufio.NewReader(pipe), report: os.NewFile(reportFD, "report"),
		clock: clock.Boottime(), departed: departed, signals: make(chan os.Signal, 1),
	}
	// Caught, not ignored: a program inherits ignored signals.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE, unix.SIGUSR2)
	signal.Notify(s.signals, orphaned)
	return s
}

func supervise() int {
	s := newSupervisor(exited)
	// Report this first: our process must know the supervisor before it knows of a program.
	report{what: supervising, n: int64(os.Getpid())}.tell(s.report)
	j, err := readJSON[job](s.control)
	if err != nil {
		return 1
	}
	if err := s.begin(j); err != nil {
		r := failureOf(err)
		r.tell(s.report) // first, since standard error may hang
		if r.what != unsafe && r.n == 0 {
			fmt.Fprintf(os.Stderr, "%s: %v\n", arg0, err)
		}
		return 1
	}
	if s.program == 0 {
		report{what: late}.tell(s.report)
		return 0
	}
	s.run()
	report{what: ended, n: int64(s.clock.Now())}.tell(s.report)
	return 0
}

// prepare keeps our descriptors from what this process will start, makes this process the heir of its orphaned
// descendants, and makes its alarm.
func (s *supervisor) prepare() (err error) {
	if err := closeOnExec(controlFD); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	s.alarm, err = clock.NewAlarm(s.clock)
	return err
}

// begin starts the program.
func (s *supervisor) begin(j job) error {
	if err := s.prepare(); err != nil {
		return err
	}
	if err := follows(j.Guard); err != nil {
		return err
	}
	if err := CanKill(); err != nil {
		return err
	}
	s.guard, s.kill, s.within = j.Guard, j.Kill, string(j.Within)
	if s.clock.Now() >= s.kill {
		return nil
	}
	if s.abandoned() { // we may have been frozen since the job was written
		return nil
	}
	files := make([]*os.File, j.Files)
	for i := range files {
		files[i] = os.NewFile(uintptr(firstFD+i), strconv.Itoa(i)) // #nosec G115 -- a descriptor is a small number
	}
	if err := s.forbid(j.Confinement); err != nil {
		return err
	}
	var err error
	if j.Path, err = j.find(); err != nil {
		return err
	}
	var child *os.Process
	attributes, forget, err := s.attributes(j)
	if err != nil {
		return err
	}
	defer forget()
	if j.empty() {
		child, err = os.StartProcess(string(j.Path), converted[string](j.Args), &os.ProcAttr{Dir: string(j.Dir), Env: converted[string](j.Env), Files: files, Sys: attributes})
	} else {
		child, err = s.startConfined(j, files, attributes)
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		_ = f.Close() // otherwise their readers would wait for us
	}
	s.program = child.Pid
	report{what: started, n: int64(child.Pid)}.tell(s.report)
	return nil
}

// find returns where the program is. If a file system does not answer, find hangs until the guard kills us.
func (j job) find() (bytestring, error) {
	if strings.ContainsRune(string(j.Path), '/') {
		return j.Path, nil
	}
	var err error = syscall.ENOENT
	for _, folder := range j.Folders {
		path := filepath.Join(string(folder), string(j.Path))
		is, no := os.Stat(path)
		switch {
		case no != nil || is.IsDir():
		case is.Mode()&0o111 == 0:
			err = syscall.EACCES
		default:
			return bytestring(path), nil
		}
	}
	return "", err
}

// abandoned says whether our process gave the start up, or is gone. There may be unread messages from
// before.
func (s *supervisor) abandoned() bool {
	raw, err := s.pipe.SyscallConn()
	if err != nil {
		return true
	}
	end := true
	_ = raw.Control(func(fd uintptr) { // after an error, end stays true
		for {
			pipe := []unix.PollFd{{Fd: int32(fd)}} // #nosec G115 -- a descriptor is a small number
			_, err := unix.Poll(pipe, 0)
			if err != unix.EINTR {
				end = err != nil || pipe[0].Revents&unix.POLLHUP != 0
				return
			}
		}
	})
	return end
}

// attributes are those of the program. It is born in its control group, unless that has limits: then it joins. Call forget once it is
// born.
func (s *supervisor) attributes(j job) (a *syscall.SysProcAttr, forget func(), err error) {
	a = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if s.within == "" || j.joins() {
		return a, func() {}, nil
	}
	group, err := os.OpenFile(s.within, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &ConfineError{"control group", err}
	}
	a.UseCgroupFD, a.CgroupFD = true, int(group.Fd()) // #nosec G115 -- a descriptor
	return a, func() { _ = group.Close() }, nil
}

// forbid takes two rights from this process, and so from the program. One is to gain another user's
// rights, since we could not signal that user. The other is to dump core, since memory holds secrets.
func (s *supervisor) forbid(c Confinement) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return &ConfineError{"no_new_privs", err}
	}
	if c.limits(CoreBytes) {
		return nil
	}
	if err := syscall.Setrlimit(unix.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return &ConfineError{"limit of " + string(CoreBytes), err}
	}
	return nil
}

// run returns when nothing of the program lives.
func (s *supervisor) run() {
	orders := make(chan order)
	go func() { // ends with the process
		for {
			o, err := readOrder(s.control)
			if err != nil {
				close(orders)
				return
			}
			orders <- o
		}
	}()
	changed, reaped := make(chan error), make(chan struct{})
	go func() { // ends with the process
		for {
			changed <- awaitChild()
			<-reaped
		}
	}()
	for {
		s.alarm.Set(s.kill)
		select {
		case o, ok := <-orders:
			if !ok { // our process is gone
				orders = nil
				s.killAll()
				break
			}
			s.obey(o)
		case <-s.signals:
			if s.guard != 0 && os.Getppid() != s.guard { // if our parent is still the guard, another process sent the signal
				s.killAll()
			}
		case <-s.alarm.C():
			if s.clock.Now() < s.kill {
				break // the alarm of an earlier order
			}
			if !s.killing && !s.stopping {
				what := expired
				if s.departed == lost {
					what = overran
				}
				report{what: what}.tell(s.report)
			}
			s.killAll()
		case err := <-changed:
			if err != nil { // ECHILD: no child is left
				return
			}
			s.reap()
			reaped <- struct{}{}
		}
	}
}

func (s *supervisor) obey(o order) {
	switch {
	case s.killing:
	case o.verb == stop:
		if !s.stopping && s.program != 0 {
			_ = unix.Kill(-s.program, unix.SIGTERM)
		}
		s.stopping = true
		s.kill = min(s.kill, o.at)
	case s.stopping:
		s.kill = min(s.kill, o.at)
	default:
		s.kill = o.at
	}
}

// reap collects all children that ended. If the program is among them, all others end too.
func (s *supervisor) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid == 0 {
			break
		}
		if pid == s.program {
			s.program, s.killing = 0, true
			report{what: s.departed, n: int64(status)}.tell(s.report)
		}
	}
	if s.killing {
		s.killAll()
	}
}

// killAll kills our children and their groups. When they die, their own children become ours, and the
// next call kills those. Only this goroutine reaps, so no process id can mean another process by
// then.
func (s *supervisor) killAll() {
	if !s.told {
		s.told = true
		report{what: killing}.tell(s.report)
	}
	s.killing = true
	defer s.killGroup() // last: the kernel may make us wait there
	if s.killUnder() {
		s.kill = s.clock.Now().Add(lookUnder)
		return
	}
	s.kill = s.clock.Now().Add(lookAgain)
	if s.program != 0 {
		_ = unix.Kill(-s.program, unix.SIGKILL)
		_ = unix.Kill(s.program, unix.SIGKILL)
	}
	pids, err := Children()
	if err != nil {
		return // we look again soon
	}
	for _, pid := range pids {
		if group, err := unix.Getpgid(pid); err == nil && group != unix.Getpgrp() {
			_ = unix.Kill(-group, unix.SIGKILL)
		}
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// killGroup kills what is left in the program's control group. What a process has started in another process namespace does not
// descend from us.
func (s *supervisor) killGroup() {
	if s.within != "" {
		_ = cgroup.Kill(s.within) // we look again, and so does our process if it lives
	}
}

// awaitChild blocks until a child has ended, and does not reap it. The error is ECHILD when there is
// no child.
func awaitChild() error {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
