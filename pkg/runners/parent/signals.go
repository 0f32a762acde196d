//go:build linux

package parent

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// passedOn are the signals that ask a process for something. A terminal sends those of fromTerminals to all
// processes of its foreground group.
var (
	passedOn      = []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2}
	fromTerminals = []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT}
)

const (
	// echo is how long after the first signal that asks for an end others count as the same one: service managers and
	// tools may send one twice. It is longer than that of a member, which must not be killed while it leaves in order.
	echo = 2 * time.Second
	// mercy is how long a member that must end at once may take. After that it hangs, perhaps in what it says of its end.
	mercy = 15 * time.Second
)

// demand is what the signals that were passed on ask of the member.
type demand struct {
	// first is when the first SIGTERM or SIGINT came; zero for never.
	first record.Instant
	// atOnce: it must end at once, after another of these.
	atOnce bool
}

// hear returns the demand after another signal.
func (q demand) hear(s os.Signal, now record.Instant) demand {
	switch {
	case s != unix.SIGTERM && s != unix.SIGINT:
	case q.first == 0:
		q.first = now
	case now.Sub(q.first) >= echo:
		q.atOnce = true
	}
	return q
}

// passOn passes on the signals that were sent to this process alone, for as long as the member lives. It kills a member that
// must end at once and does not.
func (d *Dead) passOn(c clock.Clock, signals <-chan os.Signal) {
	var asked demand
	var kill <-chan struct{} // nil until the member must end at once
	for {
		select {
		case s, more := <-signals:
			if !more {
				return
			}
			// Nobody can tell who sent a signal. While we are in the foreground, take the terminal for the sender: a
			// member that gets a signal twice may end at once, without releasing its locks.
			if slices.Contains(fromTerminals, s) && !d.isDead() && foreground() {
				break
			}
			d.signal(s.(syscall.Signal))
			if asked = asked.hear(s, c.Now()); asked.atOnce && kill == nil {
				kill = clock.NewTimer(mercy).C
			}
		case <-kill:
			d.end()
		}
	}
}

// end kills the member. What it has started is killed once it is reaped, as after any death.
func (d *Dead) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.member != 0 {
		_ = unix.Kill(d.member, unix.SIGKILL)
	}
}

// foreground says whether this process belongs to the foreground group of a terminal.
func foreground() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// signal passes a signal on. Once the member is dead, a signal that asks for an end hurries this process; it never ends
// while anything of the member may live.
func (d *Dead) signal(s syscall.Signal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.member != 0:
		_ = unix.Kill(d.member, s)
	case s != unix.SIGUSR1 && s != unix.SIGUSR2 && !d.hasHurry:
		d.hasHurry = true
		close(d.hurried)
	}
}

// notify has the channel get the signals that are passed on. Those that were ignored when this process started,
// as nohup does, stay ignored, in the member too. A broken pipe ends nobody: others may read what we log, or not. forget
// gives the signals their defaults again.
func notify(signals chan<- os.Signal) (forget func()) {
	for _, s := range passedOn {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	pipes := make(chan os.Signal, 1)
	if !signal.Ignored(unix.SIGPIPE) {
		signal.Notify(pipes, unix.SIGPIPE)
	}
	return func() {
		signal.Stop(signals)
		signal.Stop(pipes)
	}
}
