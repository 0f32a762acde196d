package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

// Plugin says which plugin to run, and how.
type Plugin struct {
	// Name is the runner's, for logs.
	Name    string
	Program *Program
	// Config is the plugin's own part, as YAML.
	Config []byte
	// Env adds NAME=value to the environment that package child provides.
	Env []string
	// Confinement is the plugin's user and its limits.
	Confinement deadman.Confinement
	// Output is the rate at which its messages and output are logged; zero fields mean
	// child.DefaultRate's.
	Output child.Rate
	// StopGrace is the most time between the request to stop and SIGKILL.
	StopGrace time.Duration
	// Clock reads CLOCK_BOOTTIME; nil means the real one.
	Clock clock.Clock
	// Log takes the plugin's messages and output; nil for none.
	Log *zap.Logger
}

// New makes a runner of a plugin. Each run of it is a new process.
//
// Run returns nil if the plugin was stopped because its context was cancelled, whatever its exit
// status; no process of the plugin lives then. Otherwise it returns a *StartError, a *WorkError, an
// *ExitError, runners.ErrDeadline or runners.ErrSlowStart.
func New(p Plugin) election.Runner {
	env := runners.Env{Clock: p.Clock, Log: p.Log}.Defaults()
	p.Clock, p.Log = env.Clock, env.Log
	return &work{p, child.NewBudgets(p.Output, p.Clock)}
}

type work struct {
	Plugin
	// budgets limit the output of all runs together.
	budgets *child.Budgets
}

// Contained implements election.Contained: the plugin's supervisor ends it in time.
func (w *work) Contained() bool { return true }

// Run runs the plugin once.
func (w *work) Run(ctx context.Context, term election.Term) error {
	return w.RunAnnounced(ctx, term, func() {})
}

// RunAnnounced does what Run does. It calls up once the plugin has accepted its configuration and we
// have asked it to run.
func (w *work) RunAnnounced(ctx context.Context, term election.Term, up func()) error {
	if ctx.Err() != nil {
		return nil
	}
	deadline, _ := term.Deadline()
	kill := deadman.KillAt(w.Clock, deadline)
	if w.Clock.Now() >= kill {
		return fmt.Errorf("plugin %s was not started: %w", w.Program.Name, runners.ErrDeadline)
	}
	log := runners.Log(w.Log, term, w.Name).With(zap.String("plugin", w.Program.Name))
	s, err := newSession(ctx, setting{program: w.Program, env: child.Environment(w.Env, term, deadline), Confinement: w.Confinement, output: w.budgets, kill: kill, log: log})
	if err != nil {
		return &StartError{Plugin: w.Program.Name, Err: err}
	}
	t := &talk{plugin: w.Program.Name, session: s, term: term, up: up, config: w.Config, output: w.budgets, log: log, over: make(chan struct{})}
	talking, hang := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(t.over)
		t.err = t.hold(talking, ctx)
	})
	end, status, started := w.watch(ctx, term, t, log)
	hang()
	wg.Wait()
	s.close()
	switch {
	case errors.Is(t.err, deadman.ErrLate):
		return fmt.Errorf("plugin %s was not started: %w", w.Program.Name, runners.Late(term, deadline))
	case end == deadman.Expired:
		return fmt.Errorf("plugin %s was killed: %w", w.Program.Name, runners.ErrDeadline)
	case errors.Is(t.err, deadman.ErrStopped), end == deadman.Stopped:
		return nil
	case !started, t.said:
		return t.err
	}
	var refused *StartError
	if errors.As(t.err, &refused) && !t.connected {
		return t.err
	}
	return &ExitError{Plugin: w.Program.Name, Status: status}
}

// watch watches over the plugin's process until it is dead. The process may never start.
func (w *work) watch(ctx context.Context, term election.Term, t *talk, log *zap.Logger) (deadman.Ending, deadman.Status, bool) {
	var p *deadman.Process
	select {
	case p = <-t.session.process.started:
	case <-t.over:
		select {
		case p = <-t.session.process.started:
		default:
			term.Ended(t.session.process.ended) // the plugin may have begun; it is dead now
			return deadman.ByItself, deadman.Status{}, false
		}
	}
	log = log.With(zap.Int("pid", p.Pid()))
	log.Info("plugin started")
	end := p.Watch(ctx, term, deadman.Watch{
		StopGrace: w.StopGrace, Clock: w.Clock, Log: log, Done: t.over,
		Ask: func(asking context.Context) { t.stop(asking, ctx, term) },
	})
	status := p.Wait()
	term.Ended(p.Ended())
	log.Info("plugin and all that it started have ended", zap.Stringer("status", status))
	return end, status, true
}
