package deadman

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Program is what runs under a supervisor.
type Program struct {
	// Path is where the program is. With File it is only its name.
	Path string
	// File, if set, is the program itself: what is executed is this very file, whatever
	// stands at the path by then. It must not be a script.
	File *os.File
	// Args begin with the program's name. Env is the whole environment.
	Args, Env []string
	// Dir is where it runs; this process's own directory when empty.
	Dir string
	// Confinement is its user and its limits.
	Confinement Confinement
	// Files become its descriptors 0, 1, ... They stay the caller's to close.
	Files []*os.File
}

// ErrLate is wrapped when a program was not started since its time was over.
var ErrLate = errors.New("its time was over before it could be started")

// Start starts a program that is killed at the instant unless Watch extends that. The
// error wraps what exec(2) said, a *ConfineError, or ErrLate.
func Start(p Program, kill record.Instant) (*Process, error) {
	if err := seeProcesses(); err != nil {
		return nil, fmt.Errorf("%w (without /proc nobody can tell what lives)", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	orders, control, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe to the supervisor: %w", err)
	}
	defer orders.Close()
	report, reports, err := os.Pipe()
	if err != nil {
		_ = control.Close()
		return nil, fmt.Errorf("open a pipe from the supervisor: %w", err)
	}
	defer reports.Close()
	j := job{Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir, Files: len(p.Files), Kill: kill, Confinement: p.Confinement}
	program := null
	if p.File != nil {
		program, j.Path = p.File, programPath(programFD)
	}
	// What is executed is the file that runs here, even if it was replaced meanwhile.
	s, err := startSupervisor("/proc/self/exe", []string{arg0}, &os.ProcAttr{
		Env:   []string{"GOTRACEBACK=none"},
		Files: append([]*os.File{null, null, os.Stderr, orders, reports, program}, p.Files...),
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_, _ = control.Close(), report.Close()
		return nil, fmt.Errorf("start its supervisor: %w", err)
	}
	process := &Process{supervisor: s, control: control, report: report, killing: make(chan struct{}), dead: make(chan struct{})}
	if err := process.begin(j); err != nil {
		_ = s.Kill()
		waitSupervisor(s)
		_, _ = control.Close(), report.Close()
		return nil, err
	}
	process.following.Go(process.follow)
	return process, nil
}

// begin hands the job over and waits until the program runs.
func (p *Process) begin(j job) error {
	line, err := json.Marshal(j)
	if err != nil {
		return err
	}
	by := time.Now().Add(max(0, clock.Until(clock.Boottime(), j.Kill)))
	_, _ = p.control.SetWriteDeadline(by), p.report.SetReadDeadline(by)
	if _, err := p.control.Write(append(line, '\n')); err != nil {
		return notStarted(err)
	}
	p.reports = bufio.NewReader(p.report)
	r, err := readReport(p.reports)
	switch {
	case err != nil:
		return notStarted(err)
	case r.what == started:
		p.pid = r.n
		_, _ = p.control.SetWriteDeadline(time.Time{}), p.report.SetReadDeadline(time.Time{})
		return nil
	case r.what == late:
		return ErrLate
	case r.what == refused:
		return &ConfineError{r.thing, syscall.Errno(r.n)}
	case r.n != 0:
		return syscall.Errno(r.n)
	}
	return errors.New("its supervisor could not start it, and says why in standard error")
}

func notStarted(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrLate
	}
	return fmt.Errorf("its supervisor ended before it began: %w", err)
}
