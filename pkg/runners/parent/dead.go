//go:build linux

package parent

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

// Dead is what a parent knows of its member. Any goroutine may call its methods: what they return does not change.
type Dead struct {
	line *os.File
	// group is the member's own control group; nil if it has none.
	group *cgroup.Group
	// died is closed when the member has died, over when nothing is left of it. hurried is closed when a signal asks
	// for an end after that.
	died, over, hurried chan struct{}

	mu     sync.Mutex
	member int // its process id; 0 once it is reaped
	// hasHurry: hurried is closed.
	hasHurry bool
	status   unix.WaitStatus
	diedAt   time.Time

	notes    map[string]string
	sessions []Session
}

// listen reads what the member says until its end of the line is closed. It keeps what the member last said even
// if the member dies in the middle of a word.
func (d *Dead) listen() {
	d.notes = map[string]string{}
	lines := bufio.NewReader(d.line)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		for k, v := range m.Notes {
			d.notes[k] = v
		}
		switch s := (Session{m.Session, m.Identity}); {
		case m.Over:
			d.sessions = slices.DeleteFunc(d.sessions, func(s Session) bool { return s.Identity == m.Identity })
		case m.Session != "" && !slices.Contains(d.sessions, s):
			d.sessions = append(d.sessions, s)
		}
	}
	_ = d.line.Close()
}

// lookAgain is how often we look for what is left of the member. After idleLooks looks that find nothing but guards
// and supervisors of programs, these have nothing to watch over any more, and hang.
const (
	lookAgain = 2 * time.Millisecond
	idleLooks = 250
)

// reap waits for every child. Once the member is gone it kills all that remain, until the kernel says that
// there is none. The kernel lists each process below us sooner or later as our child: we are their subreaper.
func (d *Dead) reap() {
	for idle := 0; ; {
		var status unix.WaitStatus
		options := unix.WALL
		dead := d.isDead()
		if dead {
			options |= unix.WNOHANG
		}
		pid, err := unix.Wait4(-1, &status, options, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD) && dead:
			if d.groupEmpty() {
				close(d.over)
				return
			}
			time.Sleep(lookAgain)
		case err != nil:
			return // nothing is proved
		case pid == 0:
			whom := deadman.AllButGuards
			if idle++; idle > idleLooks {
				whom = deadman.Everybody
			}
			if deadman.KillBelow(whom) {
				idle = 0
			}
			time.Sleep(lookAgain)
		case status.Exited() || status.Signaled():
			d.reaped(pid, status)
		}
	}
}

// groupEmpty says whether nothing lives in the member's control group, and kills what does. That includes processes
// that do not descend from the member any more. Its guards are dead by now.
func (d *Dead) groupEmpty() bool {
	if d.group == nil {
		return true
	}
	empty, err := d.group.Empty()
	if err != nil || !empty {
		_ = d.group.Kill() // we look again
	}
	return err == nil && empty
}

func (d *Dead) isDead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.member == 0
}

func (d *Dead) reaped(pid int, status unix.WaitStatus) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if pid == d.member {
		d.member, d.status, d.diedAt = 0, status, time.Now()
		d.hangUp()
		close(d.died)
	}
}

// hangUp ends the line after what the member has said. Another process may hold the member's end of it, which the
// member gave away; the parent must not wait for that process.
func (d *Dead) hangUp() {
	if line, err := d.line.SyscallConn(); err == nil { // otherwise it has ended already
		_ = line.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RD) }) // #nosec G115 -- a descriptor
	}
}

// Proved waits until nothing is left of the member: neither the member nor anything that it had started. The
// error wraps ErrNotProved, and nobody may end the member's session then.
func (d *Dead) Proved(ctx context.Context) error {
	select {
	case <-d.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrNotProved, context.Cause(ctx))
	}
}

// Hurried is closed when somebody asks this process, by a signal, to end.
func (d *Dead) Hurried() <-chan struct{} { return d.hurried }

// Sessions are those that the member told of and has not ended, the latest last.
func (d *Dead) Sessions() []Session { return slices.Clone(d.sessions) }

// Note is what the member last said under a name.
func (d *Dead) Note(name string) string { return d.notes[name] }

// At is when the member died.
func (d *Dead) At() time.Time { return d.diedAt }

// How says how the member died, for people.
func (d *Dead) How() string {
	if d.status.Signaled() {
		return "killed by " + cmp.Or(unix.SignalName(d.status.Signal()), d.status.Signal().String())
	}
	return fmt.Sprintf("exit status %d", d.status.ExitStatus())
}

// InOrder says whether the member ended with exit status 0.
func (d *Dead) InOrder() bool { return d.status.Exited() && d.status.ExitStatus() == 0 }

// Exit ends this process as the member ended, for whoever started it: with its exit status, or by the signal that
// killed it. It does not return, and waits until nothing is left of the member, or ctx ends: what outlives us,
// nobody kills. So it kills what this process itself has started, and all that is left in the member's control group.
func (d *Dead) Exit(ctx context.Context) {
	proved := d.Proved(ctx) == nil
	for looks := 0; looks < lastLooks && deadman.KillBelow(deadman.AllButGuards); looks++ {
		time.Sleep(lookAgain)
	}
	switch {
	case d.group == nil:
	case proved:
		_ = d.group.Remove() // otherwise the next parent here does it
	default:
		_ = d.group.Kill()
	}
	if d.status.Signaled() {
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // there is nothing to see in us
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)     // nor for a program that the kernel gives cores to
		signal.Reset()
		takeDefault(d.status.Signal())
		_ = unix.Kill(os.Getpid(), d.status.Signal())
		time.Sleep(exitTime) // a signal takes a moment, and does nothing to the first process of a container
		syscall.Exit(128 + int(d.status.Signal()))
	}
	syscall.Exit(d.status.ExitStatus()) // os.Exit would wait a second for the race detector
}

// lastLooks is how often Exit looks for what is left.
const lastLooks = 50

// takeDefault gives a signal the kernel's default: Go never does that for the signals by which it prints stacks.
func takeDefault(s syscall.Signal) {
	// It is of the size of the kernel's struct, or larger. Zeros are SIG_DFL without flags.
	var action [4]uint64
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, maskBytes, 0, 0) // #nosec G103 -- the kernel reads it
}

// maskBytes is the size of the kernel's set of signals.
const maskBytes = 8

// exitTime is how long a signal to ourselves may take.
const exitTime = 100 * time.Millisecond
