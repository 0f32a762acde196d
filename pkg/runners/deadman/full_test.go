//go:build linux

package deadman

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Kinds of limits that a member, its watchers and its work share.
const (
	ofUser   = "a user"
	ofCgroup = "a cgroup"
)

// markVariable holds the mark that the arguments of all work contain.
const markVariable = "DEADMAN_TEST_MARK"

func init() {
	roles["member"], roles["filler"] = member, filler
}

// member limits itself as its arguments say, starts a filler, and freezes.
func member() error {
	kind, limit, mark := os.Args[1], os.Args[2], os.Getenv(markVariable)
	switch kind {
	case ofUser:
		n, err := strconv.ParseUint(limit, 10, 64)
		if err != nil {
			return err
		}
		if err := syscall.Setrlimit(unix.RLIMIT_NPROC, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			return err
		}
	case ofCgroup:
		if err := os.WriteFile(filepath.Join(limit, "cgroup.procs"), []byte("0"), 0); err != nil {
			return err
		}
	}
	p, err := Start(context.Background(), Program{
		Path: "/proc/self/exe", Args: []string{"filler", mark}, Files: []*os.File{os.Stdin, os.Stdout, os.Stdin},
	}, clock.Boottime().Now().Add(4*time.Second))
	if err != nil {
		return err
	}
	if kind == ofUser { // at once: the filler needs a moment to take everything
		for _, pid := range []int{p.Guard(), p.Supervisor()} {
			if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{}, nil); err != nil {
				return err
			}
		}
	}
	fmt.Println("begun")
	err = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	for err == nil { // another thread may be stopped before this one
		_ = unix.Pause()
	}
	return err
}

// filler takes all the processes that it can get, as fast as it can, and reports when it gets no
// more.
func filler() error {
	makeThreads() // otherwise the filler would die itself
	mark, told := os.Args[1], false
	for {
		_, err := syscall.ForkExec("/bin/sleep", []string{"sleep", mark}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}})
		switch {
		case errors.Is(err, unix.EAGAIN) && !told:
			told = true
			fmt.Println("full")
		case err != nil && !errors.Is(err, unix.EAGAIN):
			return err
		}
	}
}

// TestWorkThatTakesAllProcesses runs work that takes, at the start of its term, all processes and
// threads that a user or a cgroup may have. The work must die by its deadline although its member is
// frozen: none of its watchers may need another thread.
func TestWorkThatTakesAllProcesses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user, of whom nobody else counts, or make a cgroup")
	}
	const trials = 6
	for n := range trials {
		most := 80 + 5*n
		t.Run(fmt.Sprintf("%s of %d", ofUser, most), func(t *testing.T) {
			t.Parallel()
			uid := uint32(2_000_000_000 + os.Getpid()*trials + n) // #nosec G115 -- both are small
			takeAll(t, ofUser, strconv.Itoa(most), &syscall.Credential{Uid: uid, Gid: uid})
		})
		t.Run(fmt.Sprintf("%s of %d", ofCgroup, most), func(t *testing.T) {
			t.Parallel()
			takeAll(t, ofCgroup, fewProcesses(t, most), nil)
		})
	}
}

// takeAll lets a member start a filler.
func takeAll(t *testing.T, kind, limit string, as *syscall.Credential) {
	mark := fmt.Sprintf("302.%d%04d", os.Getpid(), marks.Add(1))
	m := exec.Command("/proc/self/exe")
	m.Args = []string{"member", kind, limit}
	m.Env = append(os.Environ(), markVariable+"="+mark)
	m.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	var said bytes.Buffer
	m.Stderr = &said
	out, err := m.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		killMarked(t, mark)
		_ = m.Process.Kill()
		_ = m.Wait()
		if said.Len() > 0 {
			t.Errorf("somebody did not get what it needed:\n%.600s", said.String())
		}
	})
	told := make(chan string, 2)
	go func() { // ends with the member
		defer close(told)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			told <- lines.Text()
		}
	}()
	timer := clock.NewTimer(30 * time.Second)
	defer timer.Stop()
	for range 2 { // the messages begun and full
		select {
		case _, ok := <-told:
			if !ok {
				t.Skip("it ended before it had taken all: the limit does not bind here, or the machine is too slow")
			}
		case <-timer.C:
			t.Fatalf("%d processes live, and who watches over them is gone", len(living(t, mark)))
		}
	}
	for len(living(t, mark)) > 0 {
		select {
		case <-timer.C:
			t.Fatalf("%d processes live though their time is over", len(living(t, mark)))
		default:
			runtime.Gosched()
		}
	}
}

func killMarked(t *testing.T, mark string) {
	t.Helper()
	for pids := living(t, mark); len(pids) > 0; pids = living(t, mark) {
		for _, text := range pids {
			if pid, err := strconv.Atoi(text); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// fewProcesses makes a cgroup with at most so many processes and threads.
func fewProcesses(t *testing.T, most int) string {
	t.Helper()
	for _, root := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} { // of version 1 and of version 2
		dir := filepath.Join(root, fmt.Sprintf("primacy-test-%d-%d", os.Getpid(), most))
		if err := os.Mkdir(dir, 0o700); err != nil {
			continue
		}
		t.Cleanup(func() {
			timer := clock.NewTimer(30 * time.Second)
			defer timer.Stop()
			err := os.Remove(dir)
			for ; errors.Is(err, unix.EBUSY); err = os.Remove(dir) { // until the dead have been reaped
				select {
				case <-timer.C:
					t.Fatal(err)
				default:
					runtime.Gosched()
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
		if err := os.WriteFile(filepath.Join(dir, "pids.max"), []byte(strconv.Itoa(most)), 0); err == nil {
			return dir
		}
	}
	t.Skip("no cgroup that limits processes can be made here")
	return ""
}
