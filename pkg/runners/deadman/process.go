//go:build linux

package deadman

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
)

// Process is a program that runs under its supervisor.
type Process struct {
	// guard is our child, supervisor the guard's; nil until we learn of it.
	guard, supervisor *os.Process
	// pid is the program's; 0 if unknown.
	pid int
	// group is the path of the program's control group; empty if it has none.
	group string
	// within is the group in it of the program alone, with the limits of its tree, if any; empty if there is no such group.
	within string
	// control and guardControl carry our orders; report carries the answers of both.
	control, guardControl, report *os.File
	reports                       *bufio.Reader

	// killing is closed when the supervisor has begun to kill; dead when nothing lives.
	killing, dead chan struct{}
	once          sync.Once // for killing
	following     sync.WaitGroup
	forcing       sync.RWMutex // read-locked while somebody signals the supervisor by its handle

	mu            sync.Mutex // guards supervisor and supervisorPid, which we keep longer than the handle
	supervisorPid int

	// Written by follow, read by others once dead is closed.
	status  Status
	expired bool
	// overran: the guard killed it, or its supervisor, when its time was over, be it that of a stop.
	overran bool
	ended   record.Instant
	// unstarted: the supervisor or its guard said that the program was not started. Written during
	// the start, and then by follow.
	unstarted bool
}

// Status is how a process ended.
type Status struct {
	wait unix.WaitStatus
	lost bool
	// limits are those of the program's tree, and hits what they did.
	limits cgroup.Limits
	hits   cgroup.Hits
}

func (s Status) String() string {
	switch {
	case s.lost:
		return "was killed because its supervisor had ended"
	case s.OutOfMemory() && s.hits.Beyond:
		return "was killed because no memory was left on this machine, or in a control group above its own"
	case s.OutOfMemory():
		return fmt.Sprintf("was killed because it used up, with all that it had started, the %d bytes of limits.memory", s.limits.Memory)
	case s.wait.Signaled() && s.wait.CoreDump():
		return "was ended by signal " + s.wait.Signal().String() + " (core dumped)"
	case s.wait.Signaled():
		return "was ended by signal " + s.wait.Signal().String()
	}
	return fmt.Sprintf("exited with status %d", s.wait.ExitStatus())
}

// Success says whether the program exited by itself, with status 0.
func (s Status) Success() bool { return !s.lost && s.wait.Exited() && s.wait.ExitStatus() == 0 }

// OutOfMemory says whether the kernel killed the program because no memory was left: that of its tree's limit, or of a
// control group above it, or the machine's. It is known only of programs whose tree has a limit of memory.
func (s Status) OutOfMemory() bool {
	return !s.lost && s.hits.Killed > 0 && s.wait.Signaled() && s.wait.Signal() == unix.SIGKILL
}

// Refused counts the processes and threads that the kernel did not make, since the limit of the program's tree was reached.
func (s Status) Refused() uint64 { return s.hits.Refused }

// Pid returns the process id of the program and its group.
func (p *Process) Pid() int { return p.pid }

// Supervisor returns the supervisor's process id.
func (p *Process) Supervisor() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.supervisorPid
}

// Guard returns the process id of the supervisor's guard.
func (p *Process) Guard() int { return p.guard.Pid }

// Dead returns a channel that closes when neither the program nor anything that it started lives.
func (p *Process) Dead() <-chan struct{} { return p.dead }

// Wait waits until Dead, and returns how the program ended.
func (p *Process) Wait() Status {
	p.following.Wait()
	return p.status
}

// Ended returns, once Dead is closed, when the last process of the program was gone. The supervisor
// or its guard reports that time; it may be long past if this process was frozen. If neither reported
// it, Ended is when this process itself had made sure.
func (p *Process) Ended() record.Instant { return p.ended }

// order sends an order to the supervisor. It tells the guard to act half-way between at and dead, in
// case the supervisor does not.
func (p *Process) order(v verb, at, dead record.Instant) {
	send(p.control, order{v, at})
	send(p.guardControl, order{extend, at.Add(min(max(dead.Sub(at)/2, leastKillMargin/2), mostKillMargin/2))})
}

// send never blocks: if the pipe is full, its reader is frozen.
func send(to *os.File, o order) {
	raw, err := to.SyscallConn()
	if err != nil {
		return // closed: the supervisor is gone
	}
	line := o.line()
	_ = raw.Write(func(fd uintptr) bool {
		for {
			if _, err := unix.Write(int(fd), line); err != unix.EINTR {
				return true // also if the write would block
			}
		}
	})
}

// Kill kills the program, and all that it has started. Dead closes when that is done.
func (p *Process) Kill() { p.order(stop, clock.Boottime().Now(), 0) }

// guarded records the supervisor. It is the guard's child, not ours.
func (p *Process) guarded(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The handle never means another process. An error means that the supervisor is gone.
	p.supervisor, _ = os.FindProcess(pid)
	p.supervisorPid = pid
	watches(pid)
}

// follow reads the supervisor's reports until it ends.
func (p *Process) follow() {
	heard := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { p.hangUp(heard) })
	complete := p.hearAll()
	close(heard)
	// The guard ends now. Don't wait for a frozen one, unless it still has something to kill.
	patience := overdue
	if complete {
		patience = guardEnds
	}
	timer := clock.AfterFunc(patience, func() { _ = p.guard.Kill() })
	watching.Wait()
	left := !waitGuard(p.guard)
	timer.Stop()
	p.mu.Lock()
	if p.supervisor != nil {
		unwatches(p.supervisor.Pid)
	}
	p.mu.Unlock()
	switch {
	case !complete:
		p.clear()
	case left:
		// The program is reaped: its id, and that of its group, may be a stranger's by now. The supervisor may be ours.
		untilNothing(killOrphans)
	}
	p.status.hits = p.hits()
	complete = !p.endGroup() && complete
	if !complete {
		p.ended = clock.Boottime().Now()
	}
	closeAll(p.control, p.guardControl, p.report)
	close(p.dead)
	// force returns now. Wait for it: a handle that is released while somebody signals through it may
	// address every process there is.
	p.forcing.Lock()
	defer p.forcing.Unlock()
	p.release()
}

// hearAll reads reports until one says that nothing of the program lives (complete), or none can come any more.
func (p *Process) hearAll() (complete bool) {
	p.status.lost = true
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
		case overran:
			p.overran = true
		case exited:
			p.status.wait, p.status.lost = unix.WaitStatus(r.n), false // #nosec G115 -- it was one
		case killing:
			p.once.Do(func() { close(p.killing) })
		case ended:
			complete, p.ended = true, record.Instant(r.n)
		}
	}
	return complete
}

// hangUp waits until guard and supervisor are dead and we have read all their reports, and then ends hearAll: another process may hold
// their pipe open. It stops waiting when heard is closed, but never before the guard is dead.
func (p *Process) hangUp(heard <-chan struct{}) {
	p.awaitGuard()
	for wait := time.Millisecond; p.supervised() || p.unread(); wait = min(2*wait, lookAgain) {
		timer := clock.NewTimer(wait)
		select {
		case <-heard:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
	_ = p.report.SetReadDeadline(longAgo)
}

// awaitGuard waits until the guard is dead, and does not reap it.
func (p *Process) awaitGuard() {
	for !zombie(p.guard.Pid) {
		err := unix.Waitid(unix.P_PID, p.guard.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return // others have reaped it
		case !zombie(p.guard.Pid): // our own process traces it
			timer := clock.NewTimer(lookAgain)
			<-timer.C
		}
	}
}

// longAgo is a deadline that ends reads at once.
var longAgo = time.Unix(1, 0)

// supervised says whether the supervisor may live.
func (p *Process) supervised() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.supervisor == nil || p.supervisor.Signal(syscall.Signal(0)) == nil && !zombie(p.supervisorPid)
}

// unread says whether there are reports that nobody has read yet.
func (p *Process) unread() bool {
	raw, err := p.report.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }) // after an error, n is 0
	return n > 0
}

// hits says what the limits of the program's tree have done so far.
func (p *Process) hits() cgroup.Hits {
	if p.within == "" {
		return cgroup.Hits{}
	}
	return cgroup.HitsOf(p.within)
}

// endGroup kills what is left in the program's control group, and says whether anything was. It returns when nothing
// lives in it.
func (p *Process) endGroup() (lived bool) {
	if p.group == "" {
		return false
	}
	for {
		here, err := cgroup.End(p.group)
		lived = lived || here
		if err == nil {
			return lived
		}
		timer := clock.NewTimer(lookAgain)
		<-timer.C
	}
}

func (p *Process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.supervisor != nil {
		_ = p.supervisor.Release()
		p.supervisor = nil
	}
}

// clear kills what a killed supervisor and a killed guard leave. The kernel has killed the program,
// but neither the rest of its group nor processes that had left the group.
func (p *Process) clear() {
	untilNothing(func() bool {
		if p.pid > 0 { // 0 would be our own group
			_ = syscall.Kill(-p.pid, syscall.SIGKILL) // killOrphans finds processes outside the group
		}
		return killOrphans() || p.pid > 0 && !empty(p.pid)
	})
}

// emptyLooks is how many looks in a row must find nothing. The kernel's list of children may leave one out that we inherit just then,
// or that stands behind one that another thread reaps while we read.
const emptyLooks = 3

// untilNothing looks until nothing lives. Nobody reports the death of a process that is not our child, so it looks again and again.
func untilNothing(lives func() bool) {
	none := 0
	for wait := time.Millisecond; ; wait = min(2*wait, lookAgain) {
		if none++; lives() {
			none = 0
		}
		if none == emptyLooks {
			return
		}
		timer := clock.NewTimer(wait)
		<-timer.C
	}
}
