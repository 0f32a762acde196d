package app

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

type terminalsKey struct{}

// sit does the same as start, at a terminal of the given size: sit NAME 80x24 PROGRAM...
func sit(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3)
	var size unix.Winsize
	_, err := fmt.Sscanf(args[1], "%dx%d", &size.Col, &size.Row)
	ts.Check(err)
	mine, theirs, err := openTerminal(&size)
	ts.Check(err)
	binary, err := os.Executable()
	ts.Check(err)
	j := &job{exited: make(chan struct{}), more: make(chan struct{})}
	j.cmd = &exec.Cmd{
		Path: binary, Args: args[2:], Dir: ts.MkAbs("."), Env: append(jobEnvironment(ts), "TERM=xterm-256color"),
		Stdin: theirs, Stdout: theirs, Stderr: theirs, SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true},
	}
	ts.Check(j.cmd.Start())
	_ = theirs.Close()
	shown := make(chan struct{})
	go func() { // ends when the last process closes the terminal; joined below
		_, _ = io.Copy(j, mine)
		close(shown)
	}()
	go func() {
		j.err = j.cmd.Wait()
		<-shown
		close(j.exited)
	}()
	ts.Defer(func() {
		j.finish()
		_ = mine.Close()
		ts.Logf("[%s]\n%q", args[0], j.text())
	})
	ts.Value(jobsKey{}).(map[string]*job)[args[0]] = j
	ts.Value(terminalsKey{}).(map[string]*os.File)[args[0]] = mine
}

// press types at the terminal of a program; \n is Enter.
func press(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	_, err := io.WriteString(ts.Value(terminalsKey{}).(map[string]*os.File)[args[0]], strings.ReplaceAll(args[1], `\n`, "\n"))
	ts.Check(err)
}

// openTerminal makes a pseudo-terminal: our side, as a person uses it, and the program's side.
func openTerminal(size *unix.Winsize) (mine, theirs *os.File, err error) {
	mine, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(mine.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size); err != nil {
		return nil, nil, err
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	return mine, theirs, err
}
