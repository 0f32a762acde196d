//go:build linux

package parent_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestATerminalsSignalComesOnce checks that the member gets the signal of a key once: the terminal sends it to
// both processes.
func TestATerminalsSignalComesOnce(t *testing.T) {
	p, terminal := onTerminal(t, "waits")
	got := ""
	for range 5 {
		if _, err := terminal.Write([]byte{3}); err != nil { // Ctrl-C
			t.Fatal(err)
		}
		got += "interrupt\n"
		p.await("got", strings.TrimSuffix(got, "\n"))
	}
	if err := p.cmd.Process.Signal(unix.SIGUSR1); err != nil { // whatever came before this has come
		t.Fatal(err)
	}
	p.await("got", got+"user defined signal 1")
	if err := p.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := p.status(); got != 0 {
		t.Errorf("exit status %d", got)
	}
}

// TestAKeyHurriesAParent checks that a key on the terminal counts once the member is dead, since nobody else gets its signal; and that
// what the parent itself has started does not outlive it.
func TestAKeyHurriesAParent(t *testing.T) {
	p, terminal := onTerminal(t, "lingers")
	if err := unix.Kill(p.member(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	hired := newJudge(t, number(t, p.anything("hired")))
	if _, err := terminal.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	p.await("hurried", "true")
	if got := p.status(); got != -int(unix.SIGKILL) {
		t.Errorf("exit status %d", got)
	}
	if alive := hired.aliveAt(clock.Boottime().Now().Add(20 * time.Second)); len(alive) > 0 {
		t.Error("what the parent had started lives on")
		hired.kill(alive)
	}
}

// onTerminal starts a program in the foreground of a terminal, and waits until it is ready.
func onTerminal(t *testing.T, role string) (p *program, terminal *os.File) {
	t.Helper()
	p = newProgram(t, role)
	terminal, theirs := openTerminal(t)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs, theirs, theirs
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.start()
	_ = theirs.Close()
	p.await("ready", "")
	return p, terminal
}

// openTerminal makes a pseudo-terminal: our side, as a person uses it, and the program's side.
func openTerminal(t *testing.T) (mine, theirs *os.File) {
	t.Helper()
	mine, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mine.Close() })
	if err := unix.IoctlSetPointerInt(int(mine.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(mine.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return mine, theirs
}
