package app

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// job is a program that runs while a script goes on.
type job struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // the error of Wait; set once exited is closed

	mu     sync.Mutex
	output bytes.Buffer
	// read is how much of the output earlier calls of await have matched.
	read int
	// more is closed when there is more output.
	more chan struct{}
}

// startJob runs the test binary under one of the program's names.
func startJob(dir string, env []string, args ...string) (*job, error) {
	return startJobReading(nil, dir, env, args...)
}

// startJobReading is startJob with a standard input; nil for none.
func startJobReading(stdin *os.File, dir string, env []string, args ...string) (*job, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	j := &job{exited: make(chan struct{}), more: make(chan struct{})}
	j.cmd = &exec.Cmd{Path: binary, Args: args, Dir: dir, Env: env, Stdout: j, Stderr: j}
	if stdin != nil {
		j.cmd.Stdin = stdin
	}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // joined by receiving from exited, as finish does
		j.err = j.cmd.Wait()
		close(j.exited)
	}()
	return j, nil
}

// Write takes what the program prints.
func (j *job) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.output.Write(p)
	close(j.more)
	j.more = make(chan struct{})
	return len(p), nil
}

func (j *job) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.output.String()
}

// await waits until the output since the last match matches all patterns, in any
// order.
func (j *job) await(patterns []*regexp.Regexp, timeout time.Duration) error {
	late := clock.NewTimer(timeout)
	defer late.Stop()
	gone := false
	for {
		missing, more := j.look(patterns)
		switch {
		case missing == nil:
			return nil
		case gone:
			return fmt.Errorf("it ended before it printed %q", missing)
		}
		select {
		case <-more:
		case <-j.exited:
			gone = true
		case <-late.C:
			return fmt.Errorf("it did not print %q within %v", missing, timeout)
		}
	}
}

// look finds a pattern that does not match yet; if all match, it marks their text as read.
func (j *job) look(patterns []*regexp.Regexp) (missing *regexp.Regexp, more <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	unread, end := j.output.Bytes()[j.read:], 0
	for _, p := range patterns {
		at := p.FindIndex(unread)
		if at == nil {
			return p, j.more
		}
		end = max(end, at[1])
	}
	j.read += end
	return nil, nil
}

// status waits for the end and says how the program exited.
func (j *job) status(timeout time.Duration) (int, error) {
	late := clock.NewTimer(timeout)
	defer late.Stop()
	select {
	case <-j.exited:
		return j.cmd.ProcessState.ExitCode(), nil
	case <-late.C:
		return 0, fmt.Errorf("it did not end within %v", timeout)
	}
}

// finish ends the program if it still runs.
func (j *job) finish() {
	_ = j.cmd.Process.Signal(syscall.SIGTERM)
	if _, err := j.status(20 * time.Second); err != nil {
		_ = j.cmd.Process.Kill()
	}
	<-j.exited
}
