//go:build linux

package deadman

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A guard is a supervisor whose program is the supervisor itself. It kills at an instant a little
// later than the supervisor. Each of the two kills everything when the other is gone: the guard
// inherits what a supervisor leaves, and the kernel tells a supervisor that its guard has ended.

// argGuard is the name under which this executable is a guard. Its arguments are the number of the
// program's descriptors, and the control group of the program alone; empty for none.
const argGuard = "primacy-guard"

// Descriptors that a guard has besides those of a supervisor. The program's descriptors follow.
const (
	passedControlFD = iota + reportFD + 1
	passedProgramFD
	passedFD
)

// orphaned is the signal that tells a supervisor of the end of its guard.
const orphaned = unix.SIGUSR1

func init() {
	if len(os.Args) == 3 && os.Args[0] == argGuard {
		runtime.LockOSThread() // the kernel sends the signal when the thread that started the supervisor ends
		syscall.Exit(guard(os.Args[1], os.Args[2]))
	}
}

func guard(files, within string) int {
	n, err := strconv.Atoi(files)
	if err != nil { // not started by us
		return 1
	}
	s := newSupervisor(lost)
	s.within = within
	first, err := readOrder(s.control)
	if err != nil {
		return 1
	}
	if err := s.beginGuarding(n); err != nil {
		failureOf(err).tell(s.report)
		return 1
	}
	s.kill = first.at
	s.run()
	report{what: ended, n: int64(s.clock.Now())}.tell(s.report)
	return 0
}

// beginGuarding starts the supervisor, and passes on the supervisor's and the program's descriptors.
func (s *supervisor) beginGuarding(files int) error {
	if err := s.prepare(); err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	passed := []*os.File{os.NewFile(passedControlFD, "control"), os.NewFile(passedProgramFD, "program")}
	for i := range files {
		passed = append(passed, os.NewFile(uintptr(passedFD+i), strconv.Itoa(i))) // #nosec G115 -- a descriptor is a small number
	}
	child, err := os.StartProcess("/proc/self/exe", []string{arg0}, &os.ProcAttr{
		Env:   []string{"GOTRACEBACK=none"},
		Files: append([]*os.File{null, null, os.Stderr, passed[0], s.report}, passed[1:]...),
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: orphaned},
	})
	for _, f := range append(passed, null) {
		_ = f.Close() // otherwise their readers would wait for us
	}
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	s.program = child.Pid
	return nil
}

// Before a guard kills its supervisor, it kills what lives below it. It looks every lookUnder, until leastUnder is over
// and the kill is due, and for mostUnder at most: on a busy machine the killed take long to die. It does not look if the
// supervisor has more than manyUnder children, the dead included: a look would then take longer than some processes live,
// and a frozen supervisor, which reaps nobody, would hide them behind the dead.
const (
	lookUnder  = 2 * time.Millisecond
	leastUnder = 50 * time.Millisecond
	mostUnder  = 2 * time.Second
	manyUnder  = 200
)

// killUnder kills what is below a guard's supervisor, and says whether any of it may still live. The guard kills the
// supervisor last: if somebody kills the guard before it is done, the supervisor goes on. It wakes a frozen one.
func (s *supervisor) killUnder() (living bool) {
	if s.departed != lost || s.program == 0 {
		return false
	}
	now := s.clock.Now()
	if s.under == 0 {
		s.under = max(now.Add(leastUnder), min(now.Add(mostUnder), s.kill))
	}
	if now >= s.under {
		return false
	}
	child, err := os.FindProcess(s.program)
	if err != nil {
		return false
	}
	defer func() { _ = child.Release() }()
	_ = child.Signal(unix.SIGCONT)
	if all, err := ChildrenOf(s.program); err != nil || len(all) > manyUnder {
		return false
	}
	if Everybody.below(watcher{child, s.program}) {
		s.idle = 0
		return true
	}
	s.idle++
	return s.idle < 2 // one look may miss a process whose parent was just dying
}

// follows checks that this process is the guard's child. From here on the kernel signals the end of
// the guard; if the guard ended before that, another process is our parent.
func follows(guard int) error {
	// Set it again: the execution of a file with capabilities clears it.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(orphaned), 0, 0, 0); err != nil {
		return fmt.Errorf("hear of the guard's end: %w", err)
	}
	if os.Getppid() != guard {
		return fmt.Errorf("guard %d has ended", guard)
	}
	return nil
}
