package exec

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// Command is a program and how it is run.
type Command struct {
	// Name is the runner's, for logs.
	Name string
	// Args are the program and its arguments; at least one.
	Args []string
	// Env adds NAME=value to the environment that the package documents.
	Env []string
	// Dir is where the program runs; this process's own directory when empty.
	Dir string
	// StopGrace is the time between SIGTERM and SIGKILL, at most.
	StopGrace time.Duration
	// Clock tells the time on CLOCK_BOOTTIME; nil means that of production.
	Clock clock.Clock
	// Log takes the program's output; nil means nowhere.
	Log *zap.Logger
}

// killAt is when the kill is sent to work that must be dead at the instant: before it,
// since dying takes a moment, and so does this process if the machine is busy. What is
// left is a fifth of the time that there is, within the bounds below.
func (r *runner) killAt(dead record.Instant) record.Instant {
	margin := clock.Until(r.Clock, dead) / 5
	return dead.Add(-min(max(margin, leastKillMargin), mostKillMargin))
}

const (
	leastKillMargin = 50 * time.Millisecond
	mostKillMargin  = 500 * time.Millisecond
)

// lookAgain bounds the wait for an instant: timers stand still while the machine sleeps,
// CLOCK_BOOTTIME does not.
const lookAgain = time.Second

// New makes a runner of a program. Each run of it is a new process.
//
// Run returns nil once the program was stopped because its context was cancelled, however
// that went, for then nothing of it lives. Otherwise it returns a *StartError, an
// *ExitError, or runners.ErrDeadline.
func New(c Command) election.Runner {
	env := runners.Env{Clock: c.Clock, Log: c.Log}.Defaults()
	c.Clock, c.Log = env.Clock, env.Log
	c.Args, c.Env = slices.Clone(c.Args), slices.Clone(c.Env)
	return &runner{c}
}

type runner struct{ Command }

// Run runs the program once.
func (r *runner) Run(ctx context.Context, term election.Term) error {
	if ctx.Err() != nil {
		return nil
	}
	deadline, _ := term.Deadline()
	if r.Clock.Now() >= r.killAt(deadline) {
		return fmt.Errorf("%s was not started: %w", r.Args[0], runners.ErrDeadline)
	}
	log := runners.Log(r.Log, term, r.Name)
	p, err := start(r.Command, term, deadline, log)
	if err != nil {
		return err
	}
	p.log.Info("program started")
	end := r.watch(ctx, term, p)
	status := p.finish()
	p.log.Info("program and its process group have ended", zap.Stringer("status", status))
	switch end {
	case stopped:
		return nil
	case expired:
		return fmt.Errorf("%s was killed: %w", r.Args[0], runners.ErrDeadline)
	default:
		return &ExitError{Program: r.Args[0], Status: status}
	}
}

// ending is why a program ended.
type ending int

const (
	byItself ending = iota + 1
	stopped
	expired
)

// watch sees to it that the program ends in time, and returns when it has.
func (r *runner) watch(ctx context.Context, term election.Term, p *process) ending {
	end := byItself
	stop := ctx.Done()
	deadline, extended := term.Deadline()
	kill := r.killAt(deadline)
	for {
		timer := time.NewTimer(min(lookAgain, max(0, clock.Until(r.Clock, kill))))
		select {
		case <-p.exited:
			timer.Stop()
			return end
		case <-stop:
			// From here on nothing is extended.
			end, stop, extended = stopped, nil, nil
			kill = r.lastInstant(ctx, kill)
			p.signal(terminate)
		case <-extended:
			deadline, extended = term.Deadline()
			kill = r.killAt(deadline)
		case <-timer.C:
			if r.Clock.Now() < kill {
				break
			}
			if end == byItself {
				end = expired
				p.log.Error("the term's deadline came without an extension; the program is killed")
			} else {
				p.log.Warn("the program did not stop in its grace and is killed", zap.Duration("stopGrace", r.StopGrace))
			}
			p.awaitDeath()
			return end
		}
		timer.Stop()
	}
}

// lastInstant is when a program that is being stopped is killed: after its grace, and in
// any case before it must be dead.
func (r *runner) lastInstant(ctx context.Context, kill record.Instant) record.Instant {
	kill = min(kill, r.Clock.Now().Add(r.StopGrace))
	if s, ok := election.StopOf(ctx); ok && s.By != 0 {
		kill = min(kill, r.killAt(s.By))
	}
	return kill
}
