package plugin

import (
	"context"
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

// setting says how to run a plugin's process.
type setting struct {
	program *Program
	env     []string
	output  *child.Budgets
	deadman.Confinement
	kill record.Instant
	log  *zap.Logger
}

// process is a plugin's process, under a supervisor.
type process struct {
	setting
	// started receives Process once it runs.
	started chan *deadman.Process

	*deadman.Process
	// ended is when the last process was gone after a failed start; zero if the plugin never began.
	ended           record.Instant
	stdout          *os.File
	first           *io.PipeReader
	stderr, helpers *child.Output
	handshake       sync.WaitGroup
}

// start starts the plugin, with go-plugin's variables in its environment.
func (p *process) start(ctx context.Context, spec *osexec.Cmd) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	r, stdout, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdout.Close()
	errors, stderr, err := child.NewOutput(p.log, "stderr", p.output.Of("stderr"))
	if err != nil {
		_ = r.Close()
		return err
	}
	defer stderr.Close()
	p.stdout, p.stderr = r, errors
	first, handshake := io.Pipe()
	p.first = first
	p.handshake.Go(func() {
		err := copyLine(handshake, r)
		_ = handshake.CloseWithError(err)
		if err == nil { // what follows is printed by the plugin's helpers
			p.helpers = child.Follow(r, p.log, "stdout", p.output.Of("stdout"))
		}
	})
	p.Process, err = deadman.Start(ctx, deadman.Program{
		File: p.program.memory, Path: p.program.Name, Args: []string{p.program.Name},
		Env: append(slices.Clone(spec.Env), p.env...), Files: []*os.File{null, stdout, stderr}, Confinement: p.Confinement,
	}, p.kill)
	if err != nil {
		p.ended = deadman.EndedOf(err)
		return err
	}
	p.started <- p.Process
	return nil
}

// close ends the readers of a process that is dead, or never started.
func (p *process) close() {
	if p.stdout == nil {
		return
	}
	_ = p.first.Close()
	_ = p.stdout.SetReadDeadline(time.Now())
	p.handshake.Wait()
	if p.helpers == nil {
		p.helpers = child.Follow(p.stdout, p.log, "stdout", p.output.Of("stdout"))
	}
	child.AtOnce(p.helpers.End, p.stderr.End)
}

// longestHandshake bounds the first line that a plugin prints.
const longestHandshake = 16 << 10

var errHandshake = errors.New("the first line of its output is too long to be a handshake")

// copyLine copies one line, and reads no byte beyond it.
func copyLine(to io.Writer, from io.Reader) error {
	var line strings.Builder
	for one := make([]byte, 1); line.Len() < longestHandshake; {
		if _, err := io.ReadFull(from, one); err != nil {
			return err
		}
		line.WriteByte(one[0])
		if one[0] == '\n' {
			_, err := io.WriteString(to, line.String())
			return err
		}
	}
	return errHandshake
}

// runner is a process as go-plugin sees it: go-plugin sets the environment first, then starts it.
type runner struct {
	*process
	// ctx is the run's context. When it ends, the start ends.
	ctx  context.Context
	spec *osexec.Cmd
}

func (r *runner) Start(context.Context) error     { return r.start(r.ctx, r.spec) }
func (r *runner) Diagnose(context.Context) string { return "" }
func (r *runner) Stdout() io.ReadCloser           { return r.first }
func (r *runner) Stderr() io.ReadCloser           { return io.NopCloser(strings.NewReader("")) }
func (r *runner) Name() string                    { return r.program.Name }
func (r *runner) ID() string {
	if r.Process == nil {
		return ""
	}
	return strconv.Itoa(r.Pid())
}

func (r *runner) PluginToHost(n, a string) (string, string, error) { return n, a, nil }
func (r *runner) HostToPlugin(n, a string) (string, string, error) { return n, a, nil }

// Wait waits until nothing of the plugin lives.
func (r *runner) Wait(context.Context) error {
	<-r.Dead()
	return nil
}

// Kill kills the plugin.
func (r *runner) Kill(context.Context) error {
	if r.Process == nil {
		return nil
	}
	r.Process.Kill()
	<-r.Dead()
	return nil
}
