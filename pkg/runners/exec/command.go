//go:build linux

package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/probe"
)

// Command says which program to run, and how.
type Command struct {
	// Name is the runner's, for logs.
	Name string
	// Args are the program and its arguments; at least one.
	Args []string
	// Env adds NAME=value to the environment that the package comment lists.
	Env []string
	// Dir is where the program runs; this process's own directory when empty.
	Dir string
	// Confinement is the program's user and its limits.
	Confinement deadman.Confinement
	// Output limits the rate at which the program's output is logged; zero fields mean
	// child.DefaultRate's.
	Output child.Rate
	// StopGrace is the time between SIGTERM and SIGKILL, at most.
	StopGrace time.Duration
	// Ready asks, before any term, whether the program could work. The zero Spec asks nothing: the program is
	// always ready.
	Ready probe.Spec
	// Turns bounds the probes that run at a time, together with others that have the same Turns. Nil: no others.
	Turns *probe.Turns
	// Election is the name of the election, for the probe.
	Election string
	// Clock reads CLOCK_BOOTTIME; nil means the real one.
	Clock clock.Clock
	// Log takes the program's output; nil for none.
	Log *zap.Logger
}

// New makes a runner of a program. Each run of it is a new process.
//
// Run returns nil if the program was stopped because its context was cancelled, whatever its exit
// status; no process of the program lives then. Otherwise it returns a *StartError, an *ExitError,
// runners.ErrDeadline or runners.ErrSlowStart.
//
// If Ready asks anything, the runner implements election.Readiness.
func New(c Command) election.Runner {
	env := runners.Env{Clock: c.Clock, Log: c.Log}.Defaults()
	c.Clock, c.Log = env.Clock, env.Log
	c.Args, c.Env = slices.Clone(c.Args), slices.Clone(c.Env)
	r := &runner{c, child.NewBudgets(c.Output, c.Clock)}
	if !c.Ready.Set() {
		return r
	}
	turns := c.Turns
	if turns == nil {
		turns = probe.NewTurns()
	}
	asking := c
	asking.Args = c.Ready.Command
	return probed{r, probe.New(c.Ready, probe.Program{
		Election: c.Election, Dir: c.Dir, Env: c.Env, Confinement: c.Confinement,
		Locate: func() (string, error) { return locate(asking) },
	}, turns)}
}

// probed is a runner whose readiness a probe knows.
type probed struct {
	*runner
	*probe.Probe
}

var _ election.Readiness = probed{}

type runner struct {
	Command
	// budgets limit the output of all runs together.
	budgets *child.Budgets
}

// Contained implements election.Contained: the program's supervisor ends it in time.
func (r *runner) Contained() bool { return true }

// Run runs the program once.
func (r *runner) Run(ctx context.Context, term election.Term) error {
	if ctx.Err() != nil {
		return nil
	}
	deadline, _ := term.Deadline()
	if r.Clock.Now() >= deadman.KillAt(r.Clock, deadline) {
		return fmt.Errorf("%s was not started: %w", r.Args[0], runners.ErrDeadline)
	}
	log := runners.Log(r.Log, term, r.Name)
	p, err := start(ctx, r.Command, r.budgets, term, deadline, log)
	if errors.Is(err, deadman.ErrStopped) {
		return nil
	}
	if err != nil {
		return err
	}
	log = log.With(zap.Int("pid", p.Pid()))
	log.Info("program started")
	end := p.Watch(ctx, term, deadman.Watch{StopGrace: r.StopGrace, Clock: r.Clock, Log: log})
	status := p.Wait()
	term.Ended(p.Ended())
	p.end()
	log.Info("program and all that it started have ended", zap.Stringer("status", status))
	switch end {
	case deadman.Stopped:
		return nil
	case deadman.Expired:
		return fmt.Errorf("%s was killed: %w", r.Args[0], runners.ErrDeadline)
	default:
		return &ExitError{Program: r.Args[0], Status: status}
	}
}
