//go:build linux

package deadman

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// stand starts a process that stands for a guard which does nothing any more, with a child that stands for its supervisor.
func stand(t *testing.T) (guard *os.Process, supervisor int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	guard, err = os.StartProcess("/bin/sh", []string{"sh", "-c", `sleep 300 & echo $!; exec sleep 300`}, &os.ProcAttr{Files: []*os.File{nil, w}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(r, &supervisor); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = syscall.Kill(supervisor, syscall.SIGKILL), guard.Kill() })
	return guard, supervisor
}

// TestForceSparesWhatHasChildren checks that force never kills a guard while its supervisor lives, and kills it soon after that,
// whatever its state.
func TestForceSparesWhatHasChildren(t *testing.T) {
	p := newProcess()
	var pid int
	p.guard, pid = stand(t)
	p.supervisorPid = pid
	p.supervisor = &os.Process{Pid: -1} // force cannot kill it
	ended, forced := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); _, _ = p.guard.Wait() }() // joined by the receive below
	go func() { defer close(forced); p.force() }()            // likewise
	spared := clock.NewTimer(4 * time.Second)                 // several times as long as force waits
	defer spared.Stop()
	select {
	case <-ended:
		t.Error("the guard was killed while its supervisor lived")
	case <-spared.C:
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	within(t, ended, "a guard without a living child goes on")
	close(p.dead)
	<-forced
}

// deaf has this process, and the watchers that it starts, write to a standard error that nobody reads. Its pipe has room for
// so many bytes.
func deaf(t *testing.T, room int) (pipe *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size-room)); err != nil {
		t.Fatal(err)
	}
	was := os.Stderr
	os.Stderr = w
	t.Cleanup(func() {
		os.Stderr = was
		_, _ = r.Close(), w.Close()
	})
	return r
}

// speaks has the runtime of a watcher die, and returns when it hangs in what it says of that.
func speaks(t *testing.T, pid int, stderr *os.File) {
	t.Helper()
	told := func() int {
		n, err := unix.IoctlGetInt(int(stderr.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := told()
	if err := syscall.Kill(pid, syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	for told() == before {
		runtime.Gosched()
	}
}

// nameOnly is room for the name of the signal, but not for what follows.
const nameOnly = 20

// TestAGuardThatHangsInItsLastWords checks that a start that was given up ends though the runtime of the guard dies before the
// supervisor has a job, and nobody reads what it says of that.
func TestAGuardThatHangsInItsLastWords(t *testing.T) {
	stderr := deaf(t, nameOnly)
	program, _ := detached(t)
	p := newProcess()
	if err := p.start(program); err != nil {
		t.Fatal(err)
	}
	send(p.guardControl, order{extend, clock.Boottime().Now().Add(time.Hour)}) // it starts the supervisor then
	for all, _ := ChildrenOf(p.Guard()); len(all) == 0; all, _ = ChildrenOf(p.Guard()) {
		runtime.Gosched()
	}
	speaks(t, p.Guard(), stderr)
	ended := make(chan struct{})
	go func() { defer close(ended); p.abandon() }() // joined by the receive below
	within(t, ended, "a start that was given up does not end")
}

// TestASupervisorThatHangsInItsLastWords checks that a program is dead by its deadline though the runtime of its supervisor dies, nobody
// reads what that says, and the guard is frozen.
func TestASupervisorThatHangsInItsLastWords(t *testing.T) {
	disowned(t)
	stderr := deaf(t, nameOnly)
	program, mark := detached(t)
	boot := clock.Boottime()
	p, err := Start(t.Context(), program, boot.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for len(living(t, mark)) < 4 { // the helpers are starting
		runtime.Gosched()
	}
	trace(t, p.Guard())
	speaks(t, p.Supervisor(), stderr)
	term, _ := election.NewTerm(election.Term{Election: "e", Token: 7}, boot.Now().Add(time.Millisecond))
	done := make(chan struct{})
	go func() { // joined by the receive below
		defer close(done)
		p.Watch(context.Background(), term, Watch{StopGrace: time.Hour, Log: zap.NewNop()})
	}()
	within(t, done, "it lives beyond its deadline")
	for _, left := range living(t, mark) {
		t.Errorf("%s lives", left)
	}
}

// TestASupervisorReportsBeforeItSpeaks checks that we learn why a start failed though nobody reads the standard error on which its
// supervisor says more.
func TestASupervisorReportsBeforeItSpeaks(t *testing.T) {
	deaf(t, 0)
	program, _ := detached(t)
	p := newProcess()
	if err := p.start(program); err != nil {
		t.Fatal(err)
	}
	p.patience(time.Now().Add(20 * time.Second))
	j := program.job(p, clock.Boottime().Now().Add(time.Hour))
	j.Guard = os.Getpid() // a supervisor refuses to start without its guard
	if err := p.begin(j); err == nil || errors.Is(err, ErrLate) {
		t.Errorf("error %v, want that of the start", err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); p.abandon() }() // joined by the receive below
	within(t, ended, "a start that failed does not end")
}
