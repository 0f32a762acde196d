//go:build linux

package parent

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// passedOn are the signals that ask a process for something. A terminal sends those of fromTerminals to all
// processes of its foreground group.
var (
	passedOn      = []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2}
	fromTerminals = []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT}
)

// passOn passes on the signals that were sent to this process alone, for as long as the member lives.
func (d *Dead) passOn(signals <-chan os.Signal) {
	for s := range signals {
		// Nobody can tell who sent a signal. While we are in the foreground, take the terminal for the sender: a
		// member that gets a signal twice may end at once, without releasing its locks.
		if !slices.Contains(fromTerminals, s) || !foreground() {
			d.signal(s.(syscall.Signal))
		}
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
