//go:build linux

package deadman

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
	ptr "unsafe" // a report has the name

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

func init() {
	roles["opens"], roles["cannot close"] = opens, cannotClose
}

// Instructions of a filter of system calls. A filter sees the number of the call, and its arguments of 64 bits each.
func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func unless(is uint32, skip uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: skip, K: is}
}

func answering(errno syscall.Errno) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

const firstArgument, secondArgument = 16, 24

// filter makes close_range fail in this process and in all that it starts. Others stand before it: they fail, too.
func filter(errno syscall.Errno, others ...unix.SockFilter) error {
	program := append([]unix.SockFilter{load(0), unless(unix.SYS_CLOSE_RANGE, 1), answering(errno)}, others...)
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	all := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} // #nosec G115 -- a filter is short
	if _, _, err := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(ptr.Pointer(&all))); err != 0 {
		return err
	}
	return nil
}

// withRole runs this test binary in one of its roles.
func withRole(t *testing.T, args ...string) {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	c.Args = args
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNoProgramGetsOurDescriptors checks that programs have their own descriptors and no other where close_range fails.
func TestNoProgramGetsOurDescriptors(t *testing.T) {
	for why, errno := range map[string]syscall.Errno{"the kernel does not know the flag": unix.EINVAL, "nor the call": unix.ENOSYS, "a filter does not": unix.EPERM} {
		t.Run(why, func(t *testing.T) { withRole(t, "opens", strconv.Itoa(int(errno))) })
	}
}

// opens starts programs where close_range fails with the errno of its argument, and looks at what they have open.
func opens() error {
	errno, err := strconv.Atoi(os.Args[1])
	if err == nil {
		err = filter(syscall.Errno(errno))
	}
	if err != nil {
		return err
	}
	for _, c := range []Confinement{{}, {Limits: []Limit{{OpenFiles, 64, 64}}}} {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		p, err := Start(context.Background(), Program{
			Path: "/bin/sleep", Args: []string{"sleep", "300"}, Files: []*os.File{null, null, null}, Confinement: c,
		}, clock.Boottime().Now().Add(time.Hour))
		if err != nil {
			return err
		}
		err = hasOnly(p.Pid(), "0", "1", "2")
		p.Kill()
		p.Wait()
		if err != nil {
			return fmt.Errorf("a program with the limits %v %w", c.Limits, err)
		}
	}
	return nil
}

// hasOnly looks until a process has the wanted descriptors and no other: a program opens its libraries when it begins.
func hasOnly(pid int, want ...string) error {
	patience := clock.NewTimer(3 * time.Second)
	defer patience.Stop()
	for {
		has, err := descriptorsOf(pid)
		if err != nil || slices.Equal(has, want) {
			return err
		}
		select {
		case <-patience.C:
			return fmt.Errorf("has the descriptors %v, want %v", has, want)
		default:
			runtime.Gosched()
		}
	}
}

// descriptorsOf lists what another process has open.
func descriptorsOf(pid int) ([]string, error) {
	folder, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	all, err := folder.Readdirnames(-1)
	slices.Sort(all)
	return all, err
}

// TestNoStartWithOurDescriptors checks that a program does not start, and that the error says why, if nothing can keep our
// descriptors from it.
func TestNoStartWithOurDescriptors(t *testing.T) { withRole(t, "cannot close") }

func cannotClose() error {
	// The start of the guard clears the flag of a descriptor that stays in its place, as standard error would.
	elsewhere, err := unix.FcntlInt(os.Stderr.Fd(), unix.F_DUPFD_CLOEXEC, 20)
	if err != nil {
		return err
	}
	os.Stderr = os.NewFile(uintptr(elsewhere), "stderr")
	if err := filter(unix.EINVAL, unless(unix.SYS_FCNTL, 3), load(secondArgument), unless(unix.F_SETFD, 1), answering(unix.EMFILE)); err != nil {
		return err
	}
	_, err = Start(context.Background(), Program{Path: "/bin/true", Args: []string{"true"}}, clock.Boottime().Now().Add(time.Hour))
	var no *ConfineError
	if !errors.As(err, &no) || no.What != descriptorsName || !errors.Is(err, unix.EMFILE) || EndedOf(err) != 0 {
		return fmt.Errorf("the start: %w, want that its descriptors could not be set", err)
	}
	return nil
}

// keepOpen opens the pipe of the reports to write, as a process would have it that got our descriptors.
func (p *Process) keepOpen(t *testing.T) *os.File {
	t.Helper()
	raw, err := p.report.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var pipe *os.File
	if controlErr := raw.Control(func(fd uintptr) { pipe, err = os.OpenFile(programPath(int(fd)), os.O_WRONLY, 0) }); controlErr != nil || err != nil {
		t.Fatal(controlErr, err)
	}
	t.Cleanup(func() { _ = pipe.Close() })
	return pipe
}

// TestDeadWatchersWhosePipeStaysOpen checks that what a program leaves is killed once its guard and its supervisor are
// dead, though another process has the pipe of their reports open.
func TestDeadWatchersWhosePipeStaysOpen(t *testing.T) {
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	program, mark := detached(t)
	p, err := Start(t.Context(), program, clock.Boottime().Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	pipe := p.keepOpen(t)
	for len(living(t, mark)) < 4 { // the helpers are starting
		runtime.Gosched()
	}
	watchers := []int{p.Supervisor(), p.Guard()}
	for _, pid := range watchers { // pause both, or the other one would kill and report
		pause(t, pid)
	}
	for _, pid := range watchers {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	patience := clock.NewTimer(10 * time.Second)
	defer patience.Stop()
	select {
	case <-p.Dead():
	case <-patience.C:
		t.Error("nobody noticed that guard and supervisor are dead")
		_ = pipe.Close()
		<-p.Dead()
	}
	for _, left := range living(t, mark) {
		t.Errorf("%s lives", left)
	}
}

// TestReportsWhosePipeStaysOpen checks that the reports of the dead are read before their pipe is given up.
func TestReportsWhosePipeStaysOpen(t *testing.T) {
	p := unheard(t, clock.Boottime().Now().Add(time.Second))
	p.keepOpen(t)
	gone(t, p.Guard())
	gaveUp := make(chan struct{})
	go func() { // joined below
		defer close(gaveUp)
		p.hangUp(nil)
	}()
	patience := clock.NewTimer(3 * lookAgain)
	select {
	case <-gaveUp:
		t.Error("the pipe was given up before its reports were read")
	case <-patience.C:
	}
	patience.Stop()
	if !p.hearAll() || !p.expired || p.Ended() == 0 {
		t.Errorf("expired: %v, ended at %d, want all that was reported", p.expired, p.Ended())
	}
	within(t, gaveUp, "the pipe is not given up")
	p.following.Go(p.follow)
	p.Wait()
}
