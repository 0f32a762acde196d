package devcluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Binary names the environment variable that holds the path of the server.
const Binary = "PRIMACY_DEVCLUSTER"

const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
)

// process is a server that is ready. It ends when its standard input is closed, so it cannot outlive the
// test, however the test ends.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *bytes.Buffer
	output chan struct{} // closed when its standard output has ended
}

func start(data, kubeconfig string) (*process, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	p := &process{
		cmd:    exec.Command(path, "--data-dir", data, "--kubeconfig", kubeconfig, "--fsync=false", "--exit-on-stdin-close=true"),
		stderr: &bytes.Buffer{},
		output: make(chan struct{}),
	}
	p.cmd.Stderr = p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start devcluster: %w", err)
	}
	ready := make(chan bool, 1)
	go func() {
		defer close(p.output)
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		ready <- strings.HasPrefix(line, "devcluster ready: ")
		_, _ = io.Copy(io.Discard, stdout)
	}()
	timeout := clock.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case ok := <-ready:
		if ok {
			return p, nil
		}
	case <-timeout.C:
		_ = p.cmd.Process.Kill()
	}
	err = p.stop()
	return nil, fmt.Errorf("devcluster did not become ready: %w\n%s", err, p.stderr)
}

// stop ends the server and returns when it is gone.
func (p *process) stop() error {
	_ = p.stdin.Close()
	killed := errors.New("killed, since it did not end by itself")
	timer := clock.AfterFunc(stopTimeout, func() { _ = p.cmd.Process.Kill() })
	<-p.output
	err := p.cmd.Wait()
	if !timer.Stop() {
		err = errors.Join(killed, err)
	}
	if err != nil {
		return fmt.Errorf("stop devcluster: %w\n%s", err, p.stderr)
	}
	return nil
}

// find returns the path of the server's binary.
func find() (string, error) {
	if path := os.Getenv(Binary); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("$%s: %w (run make bin/devcluster and name its result, or unset the variable)", Binary, err)
		}
		return filepath.Abs(path)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above the working directory (set $%s to the API server's binary)", Binary)
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "bin", "devcluster")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the API server for tests is missing: %w (run make bin/devcluster)", err)
	}
	return path, nil
}
