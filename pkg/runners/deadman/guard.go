package deadman

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A guard is a supervisor whose program is the supervisor. It has an instant of its own, a
// little later than that of the supervisor. Each of the two kills everything when the other
// is gone: what a supervisor leaves becomes the guard's, and a supervisor hears from the
// kernel that its guard has ended.

// argGuard is the name under which this executable is a guard. It is followed by the number
// of the program's descriptors.
const argGuard = "primacy-guard"

// Descriptors of a guard, after those that a supervisor has too. Those of the program follow.
const (
	passedControlFD = iota + reportFD + 1
	passedProgramFD
	passedFD
)

// orphaned is the signal by which a supervisor hears of the end of its guard.
const orphaned = unix.SIGUSR1

func init() {
	if len(os.Args) == 2 && os.Args[0] == argGuard {
		runtime.LockOSThread() // the supervisor hears of the end of the thread that started it
		syscall.Exit(guard(os.Args[1]))
	}
}

func guard(arg string) int {
	n, err := strconv.Atoi(arg)
	if err != nil { // nobody starts it so
		return 1
	}
	s := newSupervisor(lost)
	first, err := readOrder(s.control)
	if err != nil {
		return 1
	}
	if err := s.beginGuarding(n); err != nil {
		report{what: failed, n: int64(errnoOf(err))}.tell(s.report)
		return 1
	}
	s.kill = first.at
	s.run()
	report{what: ended, n: int64(s.clock.Now())}.tell(s.report)
	return 0
}

// beginGuarding starts the supervisor, and passes on what is its own and the program's.
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
		_ = f.Close() // or its readers would wait for us
	}
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	s.program = child.Pid
	return nil
}

// follows says whether this process is the guard's child. It hears of the guard's end from
// then on; if that came before, it is nobody's.
func follows(guard int) error {
	// Again, since a file with capabilities that is executed takes it away.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(orphaned), 0, 0, 0); err != nil {
		return fmt.Errorf("hear of the guard's end: %w", err)
	}
	if os.Getppid() != guard {
		return fmt.Errorf("guard %d has ended", guard)
	}
	return nil
}
