package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// asMain makes the test binary run as devcluster.
const asMain = "DEVCLUSTER_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		endWithParent()
		main()
		return
	}
	os.Exit(m.Run())
}

// endWithParent ends this process when the test that launched it is gone, even if a time-out ended the
// test: it waits for the end of a pipe that nobody writes to.
func endWithParent() {
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(3, "parent"))
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}()
}

// process is a devcluster with its own folder for temporary files.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	tmp    string
	stdin  io.Closer // nil if standard input is /dev/null
	stdout *bufio.Reader
	stderr *bufio.Reader
	errors bytes.Buffer // stderr as read so far
}

type stdinKind int

const (
	stdinPipe stdinKind = iota + 1
	stdinDevNull
)

// launch starts devcluster, which ends with the test at the latest.
func launch(t testing.TB, in stdinKind, args ...string) *process {
	t.Helper()
	p := &process{t: t, tmp: t.TempDir(), cmd: exec.Command(os.Args[0], args...)}
	p.cmd.Env = append(os.Environ(), asMain+"=1", "TMPDIR="+p.tmp)
	if in == stdinPipe {
		w, err := p.cmd.StdinPipe()
		noError(t, err)
		p.stdin = w
	}
	stdout, err := p.cmd.StdoutPipe()
	noError(t, err)
	p.stdout = bufio.NewReader(stdout)
	stderr, err := p.cmd.StderrPipe()
	noError(t, err)
	p.stderr = bufio.NewReader(io.TeeReader(stderr, &p.errors))
	child, parent, err := os.Pipe()
	noError(t, err)
	p.cmd.ExtraFiles = []*os.File{child}
	noError(t, p.cmd.Start())
	noError(t, child.Close())
	t.Cleanup(func() {
		defer parent.Close()
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			p.exit()
		}
	})
	return p
}

// exit awaits the end and returns the exit code and the unread rest of the
// standard output.
func (p *process) exit() (code int, stdout string) {
	p.t.Helper()
	rest, err := io.ReadAll(p.stdout)
	noError(p.t, err)
	_, err = io.Copy(io.Discard, p.stderr)
	noError(p.t, err)
	var failed *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &failed) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode(), string(rest)
}

// mustEnd awaits an end with code 0, nothing more printed, nothing left behind.
func (p *process) mustEnd() {
	p.t.Helper()
	code, stdout := p.exit()
	if code != 0 || stdout != "" || p.errors.Len() != 0 {
		p.t.Errorf("exit code %d, more output %q, errors:\n%s", code, stdout, &p.errors)
	}
	p.mustLeaveNothing()
}

func (p *process) mustLeaveNothing() {
	p.t.Helper()
	left, err := os.ReadDir(p.tmp)
	noError(p.t, err)
	if len(left) != 0 {
		p.t.Errorf("left behind in the temporary folder: %v", left)
	}
}

var readyLine = regexp.MustCompile(`^devcluster ready: (https://127\.0\.0\.1:\d+) kubeconfig=(\S+) version=(\S+) in \d+\.\ds\n$`)

// server is a process that is ready.
type server struct {
	*process
	url, kubeconfig, version string
}

// start launches a server and awaits its ready line.
func start(t testing.TB, in stdinKind, args ...string) *server {
	t.Helper()
	p := launch(t, in, args...)
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		code, _ := p.exit()
		t.Fatalf("no ready line, exit code %d, errors:\n%s", code, &p.errors)
	}
	m := readyLine.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("the ready line has an unknown form: %q", line)
	}
	return &server{process: p, url: m[1], kubeconfig: m[2], version: m[3]}
}

// run runs devcluster to its end.
func run(t testing.TB, args ...string) (code int, stderr string) {
	t.Helper()
	p := launch(t, stdinDevNull, args...)
	code, stdout := p.exit()
	if stdout != "" {
		t.Errorf("devcluster %s printed %q", strings.Join(args, " "), stdout)
	}
	p.mustLeaveNothing()
	return code, p.errors.String()
}

// mintFor returns a new kubeconfig of a service account.
func mintFor(t testing.TB, s *server, namespace, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "minted")
	code, stderr := run(t, "mint", "--kubeconfig", s.kubeconfig, "--namespace", namespace, "--serviceaccount", name, "--out", out)
	if code != 0 {
		t.Fatalf("mint: exit code %d, errors:\n%s", code, stderr)
	}
	return out
}

func client(t testing.TB, kubeconfig string) kubernetes.Interface {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	noError(t, err)
	cfg.QPS = -1
	c, err := kubernetes.NewForConfig(cfg)
	noError(t, err)
	return c
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
