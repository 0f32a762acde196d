package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// process is one process of a company, with the pipes to ask it.
type process struct {
	name    string
	spans   string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	started record.Instant
	log     *os.File
}

// launch starts this program again as a process of the given kind.
func (b *bench) launch(kind, name string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own program: %w", err)
	}
	p := &process{name: name, spans: filepath.Join(b.dir, name+".spans")}
	if p.log, err = os.Create(filepath.Join(b.dir, name+".log")); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	args = append([]string{kind, "-kubeconfig", b.cluster.kubeconfig, "-name", name}, args...)
	p.cmd = exec.Command(self, args...)
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.out = bufio.NewReader(out)
	p.started = b.clock.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// wait waits until the process is gone.
func (p *process) wait() error {
	late := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() }) // it may just have ended
	defer late.Stop()
	_ = p.cmd.Wait() // that a signal ended it is no error
	return p.log.Close()
}

func (p *process) ask(what string) (state, error) {
	var s state
	if _, err := fmt.Fprintln(p.in, what); err != nil {
		return s, p.failed(err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return s, p.failed(err)
	}
	if err := json.Unmarshal(line, &s); err != nil {
		return s, p.failed(err)
	}
	return s, nil
}

func (p *process) failed(err error) error {
	said, _ := os.ReadFile(p.log.Name()) // for the message only
	return fmt.Errorf("%s: %w\n%s", p.name, err, said[max(0, len(said)-2000):])
}

// until asks the process again and again until done is true, and returns the last answer.
func (p *process) until(ctx context.Context, most time.Duration, done func(state) bool) (state, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		s, err := p.ask("state")
		if err != nil || done(s) {
			return s, err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return s, p.failed(fmt.Errorf("still %+v: %w", s, ctx.Err()))
		}
	}
}

// rss is the resident memory of the process, in bytes.
func (p *process) rss() (uint64, error) { return residentOf(p.cmd.Process.Pid) }
