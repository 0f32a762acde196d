package deadman

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Process is a program that runs under its supervisor.
type Process struct {
	supervisor *os.Process
	pid        int
	control    *os.File
	report     *os.File
	reports    *bufio.Reader

	// killing is closed when the supervisor has begun to kill; dead when nothing lives.
	killing, dead chan struct{}
	following     sync.WaitGroup

	// Written by follow, read by others once dead is closed.
	status  Status
	expired bool
}

// Status is how a process ended.
type Status struct {
	wait unix.WaitStatus
	lost bool
}

func (s Status) String() string {
	switch {
	case s.lost:
		return "was killed since its supervisor had ended"
	case s.wait.Signaled() && s.wait.CoreDump():
		return "was ended by signal " + s.wait.Signal().String() + " (core dumped)"
	case s.wait.Signaled():
		return "was ended by signal " + s.wait.Signal().String()
	}
	return fmt.Sprintf("exited with status %d", s.wait.ExitStatus())
}

// Pid is the program's process id, and its group's.
func (p *Process) Pid() int { return p.pid }

// Supervisor is the supervisor's process id.
func (p *Process) Supervisor() int { return p.supervisor.Pid }

// Dead is closed when neither the program nor anything that it started lives.
func (p *Process) Dead() <-chan struct{} { return p.dead }

// Wait waits for that and says how the program ended.
func (p *Process) Wait() Status {
	p.following.Wait()
	return p.status
}

// order tells the supervisor something. It never waits: a pipe that is full belongs to a
// supervisor that is frozen.
func (p *Process) order(v verb, at record.Instant) {
	raw, err := p.control.SyscallConn()
	if err != nil {
		return // closed: the supervisor is gone
	}
	line := order{v, at}.line()
	_ = raw.Write(func(fd uintptr) bool {
		for {
			if _, err := unix.Write(int(fd), line); err != unix.EINTR {
				return true // also when it would have to wait
			}
		}
	})
}

// Kill has the program killed, and all that it has started. Dead is closed when that is done.
func (p *Process) Kill() { p.order(stop, 0) }

// follow hears what the supervisor reports until it ends.
func (p *Process) follow() {
	p.status.lost = true
	complete := false
	for {
		r, err := readReport(p.reports)
		if err != nil {
			break
		}
		switch r.what {
		case expired:
			p.expired = true
		case exited:
			p.status = Status{wait: unix.WaitStatus(r.n)} // #nosec G115 -- it was one
		case killing:
			close(p.killing)
		case ended:
			complete = true
		}
	}
	waitSupervisor(p.supervisor)
	if !complete {
		p.clear()
	}
	_, _ = p.control.Close(), p.report.Close()
	close(p.dead)
}

// clear ends what a supervisor has left that was killed: the kernel has killed the program,
// but not the rest of its group, and not what had left that. Nobody tells when a process dies that is not our child, so
// this looks again and again; mostly once is enough.
func (p *Process) clear() {
	for wait := time.Millisecond; ; wait = min(2*wait, lookAgain) {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL) // whom it does not reach is seen below
		orphans := killOrphans()
		if left, err := members(p.pid); err == nil && len(left) == 0 && !orphans {
			return
		}
		timer := time.NewTimer(wait)
		<-timer.C
	}
}
