//go:build linux

package deadman

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Program is what runs under a supervisor.
type Program struct {
	// Path is where the program is. If File is set, Path is only a name.
	Path string
	// Folders are where the supervisor looks for a program whose Path has no slash, in this order. Such a look may hang.
	Folders []string
	// File, if set, is the program itself: this very file is executed, even if Path leads to another
	// file by then. It must not be a script.
	File *os.File
	// Args begin with the program's name. Env is the whole environment.
	Args, Env []string
	// Dir is where it runs; this process's own directory when empty.
	Dir string
	// Confinement is its user and its limits.
	Confinement Confinement
	// Files become its descriptors 0, 1, ... The caller closes them.
	Files []*os.File
}

// ErrLate: the program was not started because its time was over.
var ErrLate = errors.New("its time was over before it could be started")

// ErrStopped: the program was not started because ctx had ended.
var ErrStopped = errors.New("it was stopped before it could be started")

// Start starts a program that is killed at the instant kill unless Watch extends that. The error
// wraps that of exec(2), a *ConfineError, ErrCannotKill, ErrLate or ErrStopped. After an error no
// process of the program lives; EndedOf says since when. When ctx ends, Start returns within a
// second, and within half of the time that is left until the stop's By (election.StopOf). If the
// program has started by then, it goes on.
func Start(ctx context.Context, p Program, kill record.Instant) (*Process, error) {
	if err := SeeProcesses(); err != nil {
		return nil, err
	}
	process := newProcess()
	if err := process.start(p); err != nil {
		return nil, err
	}
	if err := process.hand(ctx, p.job(process, kill)); err != nil {
		return nil, err
	}
	return process, nil
}

func newProcess() *Process {
	return &Process{killing: make(chan struct{}), dead: make(chan struct{})}
}

func (p Program) job(of *Process, kill record.Instant) job {
	j := job{
		Path: bytestring(p.Path), Folders: converted[bytestring](p.Folders), Args: converted[bytestring](p.Args), Env: converted[bytestring](p.Env), Dir: bytestring(p.Dir),
		Files: len(p.Files), Kill: kill, Guard: of.Guard(), Within: bytestring(of.within), Confinement: p.Confinement,
	}
	if p.File != nil {
		j.Path = bytestring(programPath(programFD))
	}
	return j
}

// start starts the guard, which starts the supervisor.
func (p *Process) start(program Program) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	var pipes [3]struct{ r, w *os.File }
	for i := range pipes {
		if pipes[i].r, pipes[i].w, err = os.Pipe(); err != nil {
			break
		}
	}
	control, report, guarding := pipes[0], pipes[1], pipes[2]
	defer closeAll(control.r, report.w, guarding.r)
	what := null
	if program.File != nil {
		what = program.File
	}
	if err == nil {
		// This executes the file that runs now, even if it has been replaced.
		p.guard, p.group, p.within, err = startGuard("/proc/self/exe", []string{argGuard, strconv.Itoa(len(program.Files))}, &os.ProcAttr{
			Env:   []string{"GOTRACEBACK=none"},
			Files: append([]*os.File{null, null, os.Stderr, guarding.r, report.w, control.r, what}, program.Files...),
			Sys:   &syscall.SysProcAttr{Setsid: true},
		}, program.Confinement.Tree)
		p.status.limits = program.Confinement.Tree
	}
	if err != nil {
		closeAll(control.w, report.r, guarding.w)
		return fmt.Errorf("start the guard of its supervisor: %w", err)
	}
	p.control, p.report, p.guardControl = control.w, report.r, guarding.w
	return nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// hand gives the job to the supervisor. It waits until the program runs or, after an error, until no
// process of it lives.
func (p *Process) hand(ctx context.Context, j job) error {
	late := time.Now().Add(max(0, clock.Until(clock.Boottime(), j.Kill)))
	p.patience(late)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		if by := time.Now().Add(finishing(ctx)); by.Before(late) {
			p.patience(by)
		}
	})
	err := p.begin(j)
	if !stop() {
		<-ended
	}
	p.patience(time.Time{})
	if err != nil {
		return p.failed(ctx, err)
	}
	p.following.Go(p.follow)
	return nil
}

// failed ends everything that a failed start may have begun.
func (p *Process) failed(ctx context.Context, err error) error {
	p.abandon()
	if errors.Is(err, ErrLate) && ctx.Err() != nil {
		err = ErrStopped
	}
	if p.unstarted {
		return err
	}
	return &begunError{err, p.ended}
}

// begunError is the failure of a start whose program may have begun, and has ended.
type begunError struct {
	error
	ended record.Instant
}

func (e *begunError) Unwrap() error { return e.error }

// EndedOf returns when the last process was gone of a program whose start failed with err, as
// Process.Ended does; zero if the program never began.
func EndedOf(err error) record.Instant {
	var begun *begunError
	if errors.As(err, &begun) {
		return begun.ended
	}
	return 0
}

// finishing returns how long a start may still go on after ctx has ended. A program that begins
// meanwhile is asked to end, not killed.
func finishing(ctx context.Context) time.Duration {
	if s, ok := election.StopOf(ctx); ok && s.By != 0 {
		return min(mostFinishing, clock.Until(clock.Boottime(), s.By)/2)
	}
	return mostFinishing
}

// patience sets until when we wait for the supervisor.
func (p *Process) patience(until time.Time) {
	_, _ = p.control.SetWriteDeadline(until), p.report.SetReadDeadline(until)
}

// begin hands the job over and waits until the program runs. Even after an error the program may run.
func (p *Process) begin(j job) error {
	if clock.Boottime().Now() >= j.Kill { // this process was frozen
		p.unstarted = true
		return ErrLate
	}
	if err := p.tell(j); err != nil && !errors.Is(err, syscall.EPIPE) { // after EPIPE we hear why nobody reads the job
		return err
	}
	return p.hear()
}

// tell hands the job over.
func (p *Process) tell(j job) error {
	line, err := json.Marshal(j)
	if err != nil {
		return err
	}
	send(p.guardControl, order{extend, j.Kill.Add(leastKillMargin / 2)})
	if _, err := p.control.Write(append(line, '\n')); err != nil {
		return notStarted(err)
	}
	return nil
}

// hear waits for the outcome of the job.
func (p *Process) hear() error {
	p.reports = bufio.NewReader(p.report)
	r, err := readReport(p.reports)
	if err == nil && r.what == supervising {
		p.guarded(int(r.n))
		r, err = readReport(p.reports)
	}
	p.unstarted = r.unstarted()
	switch {
	case err != nil:
		return notStarted(err)
	case r.what == started:
		p.pid = int(r.n)
		return nil
	case r.what == late, r.what == overran, r.what == killing: // the latter two come from the guard
		return ErrLate
	case r.what == unsafe:
		return ErrCannotKill
	case r.what == lost:
		return notStarted(errLost)
	case r.what == refused:
		return &ConfineError{r.thing, syscall.Errno(r.n)}
	case r.n != 0:
		return syscall.Errno(r.n)
	}
	return errors.New("its supervisor could not start it (see standard error for the reason)")
}

var errLost = errors.New("its supervisor is gone")

func notStarted(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrLate
	}
	return fmt.Errorf("its supervisor ended before it began: %w", err)
}

// abandon ends a program that may have started, and returns when no process of it lives.
func (p *Process) abandon() {
	// Close the pipes only: supervisor and guard kill everything when their pipes end, or at their
	// instant. If we killed the two, processes that the program has started would live on.
	_, _ = p.control.Close(), p.guardControl.Close()
	if p.reports == nil {
		p.reports = bufio.NewReader(p.report)
	}
	p.following.Go(p.follow)
	timer := clock.NewTimer(abandonedEnds)
	defer timer.Stop()
	select {
	case <-p.dead:
	case <-timer.C:
		p.force()
	}
	p.following.Wait()
}
