//go:build linux

package deadman

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// disowned makes this process inherit no orphans, as in a program that does not call Adopt.
func disowned(t *testing.T) {
	t.Helper()
	heir.Lock()
	defer heir.Unlock()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	heir.adopts = false
}

var marks atomic.Int64

// detached is a program that ignores SIGTERM and has helpers, one of which leaves its group. All of
// them have the mark among their arguments.
func detached(t *testing.T) (p Program, mark string) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	mark = fmt.Sprintf("301.%d%04d", os.Getpid(), marks.Add(1))
	return Program{
		Path: "/bin/sh", Args: []string{"sh", "-c", `trap "" TERM; sleep "$0" & setsid sleep "$0" & (sleep "$0" &) ; wait`, mark}, Files: []*os.File{null, null, null},
	}, mark
}

func pause(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// trace attaches to a process as a tracer. Only SIGKILL ends a process that is stopped so.
func trace(t *testing.T, pid int) {
	t.Helper()
	runtime.LockOSThread() // this thread traces until the test's goroutine ends
	if err := syscall.PtraceAttach(pid); err != nil {
		t.Fatal(err)
	}
	for !frozen(pid) { // the stop is on its way
		runtime.Gosched()
	}
}

// TestFrozenWatchersLeaveNothing checks that nothing of a program outlives its time if its watchers
// are frozen, or get no processor for long, even if this process does not inherit orphans.
func TestFrozenWatchersLeaveNothing(t *testing.T) {
	disowned(t)
	both := func(p *Process) []int { return []int{p.Guard(), p.Supervisor()} }
	troubles := map[string]struct {
		bring func(*testing.T, int)
		whom  func(*Process) []int
	}{
		"both stopped":       {pause, both},
		"guard stopped":      {pause, func(p *Process) []int { return []int{p.Guard()} }},
		"supervisor stopped": {pause, func(p *Process) []int { return []int{p.Supervisor()} }},
		"both traced":        {trace, both},
	}
	ends := map[string]func(*Process){
		"a start that came too late": (*Process).abandon,
		"a deadline": func(p *Process) {
			p.following.Go(p.follow)
			term, _ := election.NewTerm(election.Term{Election: "e", Token: 7}, clock.Boottime().Now().Add(time.Millisecond))
			p.Watch(t.Context(), term, Watch{StopGrace: time.Hour, Log: zap.NewNop()})
		},
	}
	for way, end := range ends {
		for who, trouble := range troubles {
			t.Run(way+"/"+who, func(t *testing.T) {
				program, mark := detached(t)
				p := newProcess()
				if err := p.start(program); err != nil {
					t.Fatal(err)
				}
				if err := p.begin(program.job(p, clock.Boottime().Now().Add(time.Hour))); err != nil {
					p.abandon()
					t.Fatal(err)
				}
				for len(living(t, mark)) < 4 { // the helpers are starting
					runtime.Gosched()
				}
				for _, pid := range trouble.whom(p) {
					trouble.bring(t, pid)
				}
				end(p)
				for _, left := range living(t, mark) {
					t.Errorf("%s lives", left)
					pid, _ := strconv.Atoi(left)
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
		}
	}
}

// TestFrozenInTheMiddleOfTheirKill checks that a program whose supervisor freezes after it said that it kills, and whose
// guard is frozen, is dead by the deadline. The kill of a program with many children takes long enough for that.
func TestFrozenInTheMiddleOfTheirKill(t *testing.T) {
	disowned(t)
	program, mark := detached(t)
	boot := clock.Boottime()
	p, err := Start(t.Context(), program, boot.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for len(living(t, mark)) < 4 { // the helpers are starting
		runtime.Gosched()
	}
	watchers := []int{p.Guard(), p.Supervisor()}
	for _, pid := range watchers {
		pause(t, pid)
	}
	p.once.Do(func() { close(p.killing) }) // as if the supervisor had said so before it froze
	deadline := boot.Now().Add(3 * time.Second)
	term, _ := election.NewTerm(election.Term{Election: "e", Token: 7}, deadline)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Watch(context.Background(), term, Watch{StopGrace: time.Hour, Log: zap.NewNop()})
	}()
	t.Cleanup(func() {
		for _, pid := range watchers {
			_ = syscall.Kill(pid, syscall.SIGCONT) // the watcher is gone, unless the test failed
		}
		<-done
	})
	within(t, done, "it lives beyond its deadline")
	if late := p.Ended().Sub(deadline); late > 10*time.Second { // below zero, unless this machine is very busy; the grace is an hour
		t.Errorf("the program was dead %v after its deadline", late)
	}
	for _, left := range living(t, mark) {
		t.Errorf("%s lives", left)
	}
}

// TestMoreHelpersThanFiles checks that a program with more helpers than this process may open files is dead by the deadline, though
// both its watchers are frozen.
func TestMoreHelpersThanFiles(t *testing.T) {
	const files = 64
	program, mark := detached(t)
	program.Args = []string{"sh", "-c", fmt.Sprintf(`i=0; while [ $i -lt %d ]; do (sleep "$0" &); i=$((i+1)); done; exec sleep "$0"`, 2*files), mark}
	boot := clock.Boottime()
	p, err := Start(t.Context(), program, boot.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for len(living(t, mark)) <= 2*files { // the helpers are starting
		runtime.Gosched()
	}
	for _, pid := range []int{p.Guard(), p.Supervisor()} {
		trace(t, pid)
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: files, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	term, _ := election.NewTerm(election.Term{Election: "e", Token: 7}, boot.Now().Add(time.Millisecond))
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Watch(context.Background(), term, Watch{StopGrace: time.Hour, Log: zap.NewNop()})
	}()
	t.Cleanup(func() { <-done })
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &was) })
	within(t, done, "it lives beyond its deadline")
	if left := living(t, mark); len(left) > 0 {
		t.Errorf("%d live", len(left))
	}
}

// TestNoKillAwaitsTheLog checks that a program whose watchers are frozen is dead by its deadline although the log hangs.
func TestNoKillAwaitsTheLog(t *testing.T) {
	program, mark := detached(t)
	boot := clock.Boottime()
	p, err := Start(t.Context(), program, boot.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for len(living(t, mark)) < 4 { // the helpers are starting
		runtime.Gosched()
	}
	for _, pid := range []int{p.Guard(), p.Supervisor()} {
		trace(t, pid)
	}
	hangs, read, done := make(chan struct{}, 10), make(chan struct{}), make(chan struct{})
	log := zap.NewExample(zap.Hooks(func(zapcore.Entry) error {
		hangs <- struct{}{}
		<-read
		return nil
	}))
	term, _ := election.NewTerm(election.Term{Election: "e", Token: 7}, boot.Now().Add(time.Millisecond))
	go func() {
		defer close(done)
		p.Watch(context.Background(), term, Watch{StopGrace: time.Hour, Log: log})
	}()
	t.Cleanup(func() { close(read); <-done })
	within(t, hangs, "nothing was logged")
	within(t, p.Dead(), "it lives beyond its deadline")
	if left := living(t, mark); len(left) > 0 {
		t.Errorf("%d live", len(left))
	}
}
