package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/protocol"
)

// Description is what a plugin says it is.
type Description struct {
	Name, Version string
	// Protocol is the version that it and this program speak.
	Protocol int
}

// probeFor is how long a plugin may take to say what it is, before it is killed.
const probeFor = 10 * time.Second

// Describe starts a plugin to ask what it is, ends it, and does no work.
func (p *Program) Describe(log *zap.Logger) (Description, error) {
	return Plugin{Program: p, Log: log}.probe(func(context.Context, protocol.RunnerClient) error { return nil })
}

// Ready starts a plugin as New's runner would, to ask whether it could work, and ends it.
func (p Plugin) Ready() error {
	_, err := p.probe(func(ctx context.Context, service protocol.RunnerClient) error {
		return ready(ctx, p.Program.Name, service, p.Config)
	})
	return err
}

func (p Plugin) probe(ask func(context.Context, protocol.RunnerClient) error) (Description, error) {
	name := p.Program.Name
	log := runners.Env{Log: p.Log}.Defaults().Log.With(zap.String("plugin", name))
	s, err := newSession(context.Background(), setting{
		program: p.Program, env: child.Inherited(p.Env), Confinement: p.Confinement, output: child.NewBudgets(p.Output),
		kill: clock.Boottime().Now().Add(probeFor), log: log,
	})
	if err != nil {
		return Description{}, &StartError{Plugin: name, Err: err}
	}
	defer s.close()
	ctx, cancel := context.WithTimeout(context.Background(), probeFor)
	defer cancel()
	var d Description
	// It ends at the latest when the supervisor has killed the plugin.
	service, err := s.connect()
	if err == nil {
		d, err = describe(ctx, s, service)
	}
	if err == nil {
		err = ask(ctx, service)
	}
	select {
	case process := <-s.process.started:
		process.Kill()
		process.Wait()
	default:
	}
	if errors.Is(err, deadman.ErrLate) || ctx.Err() != nil {
		err = fmt.Errorf("plugin %s said nothing for %v and was killed", name, probeFor)
	}
	return d, err
}

func describe(ctx context.Context, s *session, service protocol.RunnerClient) (Description, error) {
	answer, err := service.Describe(ctx, &protocol.DescribeRequest{})
	if err != nil {
		return Description{}, &StartError{Plugin: s.process.program.Name, Err: err}
	}
	return Description{Name: child.Words(answer.GetName()), Version: child.Words(answer.GetVersion()), Protocol: s.client.NegotiatedVersion()}, nil
}
