package exec

import (
	"errors"
	"fmt"
	"math"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// start starts the program, with its pipes and the goroutines that serve them.
func start(c Command, term election.Term, deadline record.Instant, log *zap.Logger) (*process, error) {
	path, err := locate(c)
	if err != nil {
		return nil, err
	}
	if err := seeProcesses(); err != nil {
		return nil, &StartError{Program: c.Args[0], Path: path, Err: err, Hint: "without /proc nobody can tell whether a process group has ended"}
	}
	// What this process was itself started with may lack the flag that closes it.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	p := &process{exited: make(chan struct{}), dead: make(chan struct{})}
	files, err := p.pipes()
	defer closeAll(files)
	if err != nil {
		closeAll(p.ends())
		return nil, &StartError{Program: c.Args[0], Path: path, Err: err}
	}
	if err := p.fork(path, c.Args, &os.ProcAttr{
		Dir:   c.Dir,
		Env:   environment(c.Env, term, deadline),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}); err != nil {
		closeAll(p.ends())
		return nil, &StartError{Program: c.Args[0], Path: path, Err: err, Hint: hint(err, path)}
	}
	p.log = log.With(zap.Int("pid", p.pid))
	p.serving.Go(func() { p.output(p.stdout, "stdout") })
	p.serving.Go(func() { p.output(p.stderr, "stderr") })
	p.serving.Go(func() { p.extend(term, deadline) })
	return p, nil
}

// fork starts the program from an OS thread that stays until it has exited: PDEATHSIG
// fires when the thread ends that forked. p.exited is closed when it has exited, which
// does not reap it yet: until then its process id, and so its group's, are not reused.
func (p *process) fork(path string, args []string, attr *os.ProcAttr) error {
	started := make(chan error)
	p.waiting.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		child, err := os.StartProcess(path, args, attr)
		if err != nil {
			started <- err
			return
		}
		p.child, p.pid = child, child.Pid
		started <- nil
		awaitExit(child.Pid)
		close(p.exited)
	})
	err := <-started
	if err != nil {
		p.waiting.Wait()
	}
	return err
}

// locate finds the program: one without a slash in PATH, else relative to its directory.
func locate(c Command) (string, error) {
	program := c.Args[0]
	if c.Dir != "" {
		if _, err := os.Stat(c.Dir); err != nil {
			return "", &StartError{Program: program, Path: c.Dir, Err: err, Hint: "dir must be a directory that exists"}
		}
	}
	if !strings.ContainsRune(program, '/') {
		path, err := osexec.LookPath(program)
		if err == nil {
			return path, nil
		}
		var lookup *osexec.Error
		if errors.As(err, &lookup) {
			err = lookup.Err
		}
		where := os.Getenv("PATH")
		return "", &StartError{Program: program, Path: where, Err: err,
			Hint: fmt.Sprintf("PATH is %q; a program outside it needs its path, such as ./%s", where, program)}
	}
	path := program
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", &StartError{Program: program, Path: path, Err: err,
			Hint: "a relative path starts at dir, or at primacy's own directory where dir is not set"}
	}
	return path, nil
}

// seeProcesses says why process groups cannot be looked at, if that is so.
func seeProcesses() error {
	stat, err := os.ReadFile("/proc/self/stat")
	if err == nil {
		_, _, err = parseStat(stat)
	}
	return err
}
