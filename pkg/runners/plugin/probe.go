package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/protocol"
)

// Description is what a plugin says about itself.
type Description struct {
	Name, Version string
	// Protocol is the version that the plugin and this program speak.
	Protocol int
}

// probeFor is how long a plugin may take to answer before we kill it.
const probeFor = 10 * time.Second

// Describe starts a plugin, asks for its description, and ends it; the plugin does no work. It kills
// the plugin when ctx ends.
func (p *Program) Describe(ctx context.Context, log *zap.Logger) (Description, error) {
	return Plugin{Program: p, Log: log}.probe(ctx, func(context.Context, protocol.RunnerClient) error { return nil })
}

// Ready starts a plugin as New's runner would, asks whether it could work, and ends it. It kills the
// plugin when ctx ends.
func (p Plugin) Ready(ctx context.Context) error {
	_, err := p.probe(ctx, func(ctx context.Context, service protocol.RunnerClient) error {
		return ready(ctx, p.Program.Name, service, p.Config)
	})
	return err
}

func (p Plugin) probe(stop context.Context, ask func(context.Context, protocol.RunnerClient) error) (Description, error) {
	name := p.Program.Name
	env := runners.Env{Clock: p.Clock, Log: p.Log}.Defaults()
	log := env.Log.With(zap.String("plugin", name))
	ctx, cancel := context.WithTimeout(stop, probeFor)
	defer cancel()
	s, err := newSession(ctx, setting{
		program: p.Program, env: child.Inherited(p.Env), Confinement: p.Confinement, output: child.NewBudgets(p.Output, env.Clock),
		kill: clock.Boottime().Now().Add(probeFor), log: log,
	})
	if err != nil {
		return Description{}, &StartError{Plugin: name, Err: err}
	}
	defer s.close()
	asked := make(chan struct{})
	var killing sync.WaitGroup
	killing.Go(func() { s.killAfter(ctx, asked) })
	var d Description
	// connect returns at the latest when killAfter has killed the plugin.
	service, err := s.connect()
	if err == nil {
		d, err = describe(ctx, s, service)
	}
	if err == nil {
		err = ask(ctx, service)
	}
	close(asked)
	killing.Wait()
	switch {
	case err != nil && stop.Err() != nil:
		return d, fmt.Errorf("plugin %s: the check was interrupted: %w", name, context.Cause(stop))
	case errors.Is(err, deadman.ErrLate), errors.Is(err, deadman.ErrStopped), ctx.Err() != nil:
		return d, fmt.Errorf("plugin %s said nothing for %v and was killed", name, probeFor)
	}
	return d, err
}

// killAfter kills the process when asked is closed or ctx ends, and returns when the process is dead.
// If the process has not started when asked is closed, it never starts.
func (s *session) killAfter(ctx context.Context, asked <-chan struct{}) {
	var process *deadman.Process
	select {
	case process = <-s.process.started:
		select {
		case <-ctx.Done():
		case <-asked:
		}
	case <-asked:
		select {
		case process = <-s.process.started:
		default:
			return
		}
	}
	process.Kill()
	process.Wait()
}

func describe(ctx context.Context, s *session, service protocol.RunnerClient) (Description, error) {
	answer, err := service.Describe(ctx, &protocol.DescribeRequest{})
	if err != nil {
		return Description{}, &StartError{Plugin: s.process.program.Name, Err: err}
	}
	return Description{Name: child.Words(answer.GetName()), Version: child.Words(answer.GetVersion()), Protocol: s.client.NegotiatedVersion()}, nil
}
