package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sync/atomic"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/protocol"
)

// talk is the conversation with a plugin during a term.
type talk struct {
	plugin  string
	session *session
	term    election.Term
	// up is called once the plugin was asked to run.
	up     func()
	config []byte
	output *child.Budgets
	log    *zap.Logger

	// service is set after the handshake.
	service atomic.Pointer[protocol.RunnerClient]

	// over is closed when the talk has ended. Then err says why it ended, connected says whether
	// there was a connection, and said says whether the plugin itself gave the reason.
	over            chan struct{}
	err             error
	connected, said bool
}

// hold runs the conversation until the work is over, the plugin is gone or ctx ends. Once the run is
// cancelled, it sends no more extensions.
func (t *talk) hold(ctx, run context.Context) error {
	service, err := t.session.connect()
	if err != nil {
		return err
	}
	t.connected = true
	t.service.Store(&service)
	if err := ready(ctx, t.plugin, service, t.config); err != nil {
		var no *WorkError
		t.said = errors.As(err, &no)
		return err
	}
	ctx, hang := context.WithCancel(ctx)
	stream, err := service.Run(ctx)
	if err != nil {
		hang()
		return &StartError{Plugin: t.plugin, Err: err}
	}
	deadline, _ := t.term.Deadline()
	var extending sync.WaitGroup
	extending.Go(func() { t.extend(ctx, run, stream, deadline) })
	t.up()
	say := child.NewLimited(t.log, t.output.Of("said"))
	err = t.hear(stream, say)
	say.Close()
	hang()
	extending.Wait()
	return err
}

// extend begins the run and sends every later deadline. While the plugin does not read, extend waits,
// and then sends only the latest deadline.
func (t *talk) extend(ctx, run context.Context, stream protocol.Runner_RunClient, told record.Instant) {
	start := &protocol.Start{
		Election: t.term.Election, Identity: t.term.Identity, Revision: t.term.Revision,
		Token: uint64(t.term.Token), Cycle: int64(t.term.Cycle), Deadline: int64(told), Config: t.config,
	}
	if stream.Send(&protocol.RunRequest{Request: &protocol.RunRequest_Start{Start: start}}) != nil {
		return
	}
	for {
		deadline, extended := t.term.Deadline()
		if deadline > told {
			told = deadline
			extend := &protocol.Extend{Deadline: int64(deadline)}
			if stream.Send(&protocol.RunRequest{Request: &protocol.RunRequest_Extend{Extend: extend}}) != nil {
				return
			}
			continue
		}
		select {
		case <-extended:
		case <-run.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// hear reads events until the last one.
func (t *talk) hear(stream protocol.Runner_RunClient, to *child.Limited) error {
	for {
		e, err := stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it closed the connection without giving a reason")
			}
			if status.Code(err) == codes.ResourceExhausted { // said, or the signal that follows would hide this reason
				t.said = true
			}
			return fmt.Errorf("plugin %s: %w", t.plugin, err)
		}
		switch e := e.GetEvent().(type) {
		case *protocol.RunEvent_Ended:
			t.said = true
			return &WorkError{Plugin: t.plugin, Problem: child.Words(e.Ended.GetProblem())}
		case *protocol.RunEvent_Log:
			to.Say(levels[e.Log.GetLevel()], "plugin says", "line", e.Log.GetMessage())
		case *protocol.RunEvent_Progress:
			to.Say(zap.InfoLevel, "plugin progresses", "progress", e.Progress.GetText())
		case *protocol.RunEvent_Health:
			if problem := e.Health.GetProblem(); problem != "" {
				to.Say(zap.WarnLevel, "plugin is not well", "problem", problem)
			} else {
				to.Say(zap.InfoLevel, "plugin is well", "", "")
			}
		}
	}
}

var levels = map[protocol.Log_Level]zapcore.Level{
	protocol.Log_DEBUG: zap.DebugLevel, protocol.Log_INFO: zap.InfoLevel,
	protocol.Log_WARN: zap.WarnLevel, protocol.Log_ERROR: zap.ErrorLevel,
}

// stop asks the work to stop, if there is a connection.
func (t *talk) stop(asking, run context.Context, term election.Term) {
	service := t.service.Load()
	if service == nil {
		return
	}
	deadline, _ := term.Deadline()
	why := election.Stop{Reason: "stopped", By: deadline}
	if s, ok := election.StopOf(run); ok {
		why = s
	}
	// An error does not matter: a signal follows.
	_, _ = (*service).Stop(asking, &protocol.StopRequest{Reason: why.Reason, By: int64(why.By)})
}
