//go:build linux

package deadman

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// awaitSupervisor waits until the guard has started the supervisor, which waits for its job.
func (p *Process) awaitSupervisor(t *testing.T) int {
	t.Helper()
	send(p.guardControl, order{extend, clock.Boottime().Now().Add(time.Hour)})
	for ; ; runtime.Gosched() {
		pids, err := ChildrenOf(p.Guard())
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && string(line) == arg0+"\x00" {
				return pid
			}
		}
	}
}

// unread returns how many of our bytes nobody has read yet.
func unread(t *testing.T, pipe *os.File) int {
	t.Helper()
	raw, err := pipe.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if controlErr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); controlErr != nil || err != nil {
		t.Fatal(controlErr, err)
	}
	return n
}

// TestStoppedStart checks that a stopped start is over soon, even if the program's watchers were
// frozen before the program ran. The program then never runs, although the watchers find its job when
// they go on.
func TestStoppedStart(t *testing.T) {
	disowned(t)
	troubles := map[string]struct {
		// early: before the guard has started the supervisor.
		early bool
		bring func(*testing.T, int)
		// guard and supervisor say which of them to freeze.
		guard, supervisor bool
	}{
		"guard stopped":      {early: true, bring: pause, guard: true},
		"guard traced":       {early: true, bring: trace, guard: true},
		"supervisor stopped": {bring: pause, supervisor: true},
		"both stopped":       {bring: pause, guard: true, supervisor: true},
		"both traced":        {bring: trace, guard: true, supervisor: true},
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			ran := filepath.Join(t.TempDir(), "ran")
			program := Program{Path: "/bin/sh", Args: []string{"sh", "-c", ": > " + ran + "; sleep 300"}, Files: []*os.File{null, null, null}}
			p := newProcess()
			if err := p.start(program); err != nil {
				t.Fatal(err)
			}
			watchers := []int{p.Guard()}
			if !trouble.early {
				watchers = append(watchers, p.awaitSupervisor(t))
			}
			t.Cleanup(func() {
				for _, pid := range watchers {
					if t.Failed() {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			})
			if trouble.guard {
				trouble.bring(t, watchers[0])
			}
			if trouble.supervisor {
				trouble.bring(t, watchers[1])
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				err = p.hand(ctx, program.job(p, clock.Boottime().Now().Add(time.Hour)))
			}()
			for unread(t, p.control) == 0 { // the job is on its way
				runtime.Gosched()
			}
			stopped := clock.Boottime().Now()
			const by = 500 * time.Millisecond
			cancel(&election.Stop{Reason: "test", By: stopped.Add(by)})
			within(t, done, "the start goes on")
			if took := clock.Boottime().Now().Sub(stopped); took >= by+10*time.Second || !errors.Is(err, ErrStopped) {
				t.Errorf("it ended %v later with %v", took, err)
			}
			for _, pid := range watchers {
				if alive(pid) {
					t.Errorf("%d lives", pid)
				}
			}
			if _, err := os.Stat(ran); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the program has run (%v)", err)
			}
		})
	}
}

// TestStopAfterTheStart checks that a stop after the program has begun does not kill the program at
// once: Watch ends it, with its grace.
func TestStopAfterTheStart(t *testing.T) {
	program, mark := detached(t)
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Start(ctx, program, clock.Boottime().Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for len(living(t, mark)) < 4 {
		runtime.Gosched()
	}
	p.Kill()
	if status := p.Wait(); status.lost {
		t.Errorf("it %v", status)
	}
}
