package deadman

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Process is a program that runs under its supervisor.
type Process struct {
	// guard is our child, supervisor the guard's: nil until it was told of.
	guard, supervisor *os.Process
	// pid is the program's; 0 if it is not known.
	pid int
	// control and guardControl carry our orders, report what comes back from both.
	control, guardControl, report *os.File
	reports                       *bufio.Reader

	// killing is closed when the supervisor has begun to kill; dead when nothing lives.
	killing, dead chan struct{}
	once          sync.Once // for killing
	following     sync.WaitGroup
	forcing       sync.RWMutex // held to read by whoever signals the supervisor by its handle

	mu            sync.Mutex // guards supervisor, and its process id, which outlives the handle
	supervisorPid int

	// Written by follow, read by others once dead is closed.
	status  Status
	expired bool
	ended   record.Instant
	// unstarted: the program was not started, as the supervisor or its guard said. Written while it is
	// started, and by follow.
	unstarted bool
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
func (p *Process) Supervisor() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.supervisorPid
}

// Guard is the process id of the supervisor's guard.
func (p *Process) Guard() int { return p.guard.Pid }

// Dead is closed when neither the program nor anything that it started lives.
func (p *Process) Dead() <-chan struct{} { return p.dead }

// Wait waits for that and says how the program ended.
func (p *Process) Wait() Status {
	p.following.Wait()
	return p.status
}

// Ended is when nothing of the program lived any more, once Dead is closed. The supervisor or its guard
// says so, which may be long ago if this process was frozen. If neither did, it is when this
// process had made sure of it itself.
func (p *Process) Ended() record.Instant { return p.ended }

// order tells the supervisor something, and its guard when it is to act in its stead: half of
// the time later that is left until the program must be dead.
func (p *Process) order(v verb, at, dead record.Instant) {
	send(p.control, order{v, at})
	send(p.guardControl, order{extend, at.Add(min(max(dead.Sub(at)/2, leastKillMargin/2), mostKillMargin/2))})
}

// send never waits: a pipe that is full belongs to a supervisor that is frozen.
func send(to *os.File, o order) {
	raw, err := to.SyscallConn()
	if err != nil {
		return // closed: the supervisor is gone
	}
	line := o.line()
	_ = raw.Write(func(fd uintptr) bool {
		for {
			if _, err := unix.Write(int(fd), line); err != unix.EINTR {
				return true // also when it would have to wait
			}
		}
	})
}

// Kill has the program killed, and all that it has started. Dead is closed when that is done.
func (p *Process) Kill() { p.order(stop, clock.Boottime().Now(), 0) }

// guarded notes the supervisor, which is not our child.
func (p *Process) guarded(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// A handle that cannot become another process's. The error is that it is gone.
	p.supervisor, _ = os.FindProcess(pid)
	p.supervisorPid = pid
	watches(pid)
}

// follow hears what the supervisor reports until it ends.
func (p *Process) follow() {
	p.status.lost = true
	complete := false
	for !complete {
		r, err := readReport(p.reports)
		if err != nil {
			break
		}
		p.unstarted = p.unstarted || r.unstarted()
		switch r.what {
		case supervising:
			p.guarded(int(r.n))
		case started:
			p.pid = int(r.n)
		case expired:
			p.expired = true
		case exited:
			p.status = Status{wait: unix.WaitStatus(r.n)} // #nosec G115 -- it was one
		case killing:
			p.once.Do(func() { close(p.killing) })
		case ended:
			complete, p.ended = true, record.Instant(r.n)
		}
	}
	// The guard ends now. One that is frozen is not waited for, unless it has something left to kill.
	patience := overdue
	if complete {
		patience = guardEnds
	}
	timer := clock.AfterFunc(patience, func() { _ = p.guard.Kill() })
	left := !waitGuard(p.guard)
	timer.Stop()
	p.mu.Lock()
	if p.supervisor != nil {
		unwatches(p.supervisor.Pid)
	}
	p.mu.Unlock()
	if left || !complete {
		p.clear()
	}
	if !complete {
		p.ended = clock.Boottime().Now()
	}
	closeAll(p.control, p.guardControl, p.report)
	close(p.dead)
	// Whoever forces ends now. A handle that is released while it is signalled may stand for all
	// processes there are.
	p.forcing.Lock()
	defer p.forcing.Unlock()
	p.release()
}

func (p *Process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.supervisor != nil {
		_ = p.supervisor.Release()
		p.supervisor = nil
	}
}

// clear ends what a supervisor and a guard have left that were killed: the kernel has killed
// the program, but not the rest of its group, and not what had left that. Nobody tells when a
// process dies that is not our child, so this looks again and again; mostly once is enough.
func (p *Process) clear() {
	for wait := time.Millisecond; ; wait = min(2*wait, lookAgain) {
		if p.pid > 0 { // 0 would be our own group
			_ = syscall.Kill(-p.pid, syscall.SIGKILL) // whom it does not reach is seen below
		}
		if orphans := killOrphans(); !orphans && (p.pid <= 0 || empty(p.pid)) {
			return
		}
		timer := clock.NewTimer(wait)
		<-timer.C
	}
}
