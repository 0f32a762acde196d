package dev

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// child is a process that ends with this one. It has a process group of its own, so that
// a Ctrl-C on the terminal reaches only us.
type child struct {
	pid     int
	process *os.Process
	// ended is closed when the process was reaped. Then end says how it ended; before, end is not valid.
	ended chan struct{}
	end   error
}

// start starts cmd. The goroutine that waits for it stays on its OS thread: the kernel
// sends cmd.SysProcAttr.Pdeathsig when the thread that forked ends. Receiving from ended joins
// that goroutine. The goroutine calls gone, if not nil, before it closes ended. gone must not
// block.
func start(cmd *exec.Cmd, gone func(*child)) (*child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	c := &child{ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			c.process, c.pid = cmd.Process, cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		c.end = cmd.Wait()
		if gone != nil {
			gone(c)
		}
		close(c.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// signal sends a signal to the process, if it still lives.
func (c *child) signal(s syscall.Signal) {
	_ = c.process.Signal(s) // fails only if it has ended
}

// killGroup kills the process, and what it started in its group: a member and its parent.
func (c *child) killGroup() {
	if c.living() {
		_ = syscall.Kill(-c.pid, syscall.SIGKILL) // fails only if it has ended
	}
}

// living says whether the process has yet to be reaped.
func (c *child) living() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// how says in words how a process ended.
func how(end error) string {
	if end == nil {
		return "exit status 0"
	}
	if s := killedBy(end); s != 0 {
		return fmt.Sprintf("killed by %s", signalName(s))
	}
	return end.Error()
}

// killedBy is the signal that ended a process; zero if it ended otherwise.
func killedBy(end error) syscall.Signal {
	var exit *exec.ExitError
	if errors.As(end, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return status.Signal()
		}
	}
	return 0
}

// signalName is the name as people type it.
func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGKILL:
		return "SIGKILL"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGINT:
		return "SIGINT"
	}
	return s.String()
}
