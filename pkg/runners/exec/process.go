package exec

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// process is a running program with its process group. It belongs to the goroutine that
// runs it.
type process struct {
	child *os.Process
	pid   int
	log   *zap.Logger

	// exited is closed when the program has exited, though it is not reaped; dead when
	// nothing of its group lives.
	exited, dead chan struct{}

	// Our ends of the pipes.
	stdout, stderr, extensions *os.File

	// waiting is the goroutine that awaits the exit, serving those of the pipes.
	waiting, serving sync.WaitGroup
}

const (
	terminate = unix.SIGTERM
	killed    = unix.SIGKILL
)

// overdue is how long a killed process may take to die before that is logged: it hangs
// in the kernel, on a dead file system for example.
const overdue = 2 * time.Second

// signal reaches every process of the group. It must not be called after the program
// was reaped, when its group's id may be another's.
func (p *process) signal(s unix.Signal) {
	if err := unix.Kill(-p.pid, s); err != nil {
		p.log.Error("cannot signal the process group", zap.Stringer("signal", s), zap.Error(err))
	}
}

// awaitDeath kills the group and waits for the program's exit.
func (p *process) awaitDeath() {
	p.signal(killed)
	timer := time.NewTimer(overdue)
	defer timer.Stop()
	select {
	case <-p.exited:
		return
	case <-timer.C:
		p.log.Error("the program was killed and does not die; it may hang in the kernel")
	}
	<-p.exited
}

// finish ends what is left of the group of a program that has exited, reaps it, and
// returns when no process of the group lives and all goroutines have ended.
func (p *process) finish() Status {
	p.waiting.Wait()
	p.clear()
	close(p.dead)
	status := p.reap()

	// What left the group may hold the pipes open: take what is in them and go.
	now := time.Now()
	for _, f := range p.ends() {
		_ = f.SetDeadline(now)
	}
	p.serving.Wait()
	closeAll(p.ends())
	return status
}

// clear kills the rest of the group until none of it lives. Nobody tells when a process
// dies that is not our child, so this looks again and again; mostly once is enough.
func (p *process) clear() {
	began := time.Now()
	told := false
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		_ = unix.Kill(-p.pid, killed) // whom it does not reach is seen below
		left, err := members(p.pid)
		if err == nil && len(left) == 0 {
			return
		}
		if !told && time.Since(began) > overdue {
			told = true
			p.log.Error("processes of the program's group were killed and do not die; they may hang in the kernel",
				zap.Ints("pids", left), zap.Error(err))
		}
		timer := time.NewTimer(wait)
		<-timer.C
	}
}

// reap collects the program's exit status.
func (p *process) reap() Status {
	state, err := p.child.Wait()
	if err != nil {
		p.log.Error("cannot reap the program", zap.Error(err))
		return 0
	}
	return Status(state.Sys().(syscall.WaitStatus))
}

// awaitExit blocks until our child has exited, and leaves it to be reaped.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return // also when somebody else reaped it: it has exited
		}
	}
}
