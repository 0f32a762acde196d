package sdk

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/protocol"
)

// server is the plugin's side of the protocol.
type server struct {
	protocol.UnimplementedRunnerServer
	plugin Plugin

	mu sync.Mutex
	// cancel stops the run; nil if none is under way. idle is closed while none is.
	cancel context.CancelCauseFunc
	idle   chan struct{}
	// stopped is why the host stopped the work; nil until then. A run that begins later is cancelled
	// at once.
	stopped *election.Stop
}

func (s *server) whenIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idle
}

// Describe says what the plugin is.
func (s *server) Describe(context.Context, *protocol.DescribeRequest) (*protocol.DescribeResponse, error) {
	return &protocol.DescribeResponse{Name: s.plugin.Name, Version: s.plugin.Version}, nil
}

// Ready asks the plugin whether it could work.
func (s *server) Ready(ctx context.Context, r *protocol.ReadyRequest) (*protocol.ReadyResponse, error) {
	if s.plugin.Ready == nil {
		return &protocol.ReadyResponse{}, nil
	}
	return &protocol.ReadyResponse{Problem: text(s.plugin.Ready(ctx, r.GetConfig()))}, nil
}

// Stop ends the present run, and every run that begins later.
func (s *server) Stop(_ context.Context, r *protocol.StopRequest) (*protocol.StopResponse, error) {
	s.stop(election.Stop{Reason: r.GetReason(), By: record.Instant(r.GetBy())})
	return &protocol.StopResponse{}, nil
}

func (s *server) stop(why election.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped != nil {
		return
	}
	s.stopped = &why
	if s.cancel != nil {
		s.cancel(&why)
	}
}

// Run runs the plugin's work for one term. It returns when the host, having heard of the end, has
// closed the stream.
func (s *server) Run(stream protocol.Runner_RunServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	start := first.GetStart()
	if start == nil {
		return status.Error(codes.InvalidArgument, "a run begins with its start")
	}
	ctx, end, err := s.begin(stream.Context())
	if err != nil {
		return err
	}
	defer end()
	term, extend := election.NewTerm(election.Term{
		Election: start.GetElection(), Identity: start.GetIdentity(), Revision: start.GetRevision(),
		Token: record.Token(start.GetToken()), Cycle: int(start.GetCycle()),
	}, record.Instant(start.GetDeadline()))
	over := make(chan struct{})
	go func() { // ends with the stream; Run waits for it
		defer close(over)
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			if e := r.GetExtend(); e != nil {
				extend(record.Instant(e.GetDeadline()))
			}
		}
	}()
	h := &Host{config: start.GetConfig(), stream: stream}
	h.ended(s.run(ctx, term, h))
	<-over
	return nil
}

// run turns a panic into an error: the process ends either way, but the host hears why.
func (s *server) run(ctx context.Context, term election.Term, h *Host) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return s.plugin.Run(ctx, term, h)
}

// begin makes the context of a run, which ends when the work must stop or the host is gone. The caller
// must call end.
func (s *server) begin(parent context.Context) (ctx context.Context, end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		return nil, nil, status.Error(codes.FailedPrecondition, "a term is being run")
	}
	ctx, cancel := context.WithCancelCause(parent)
	if s.stopped != nil {
		cancel(s.stopped)
	}
	idle := make(chan struct{})
	s.cancel, s.idle = cancel, idle
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		cancel(nil)
		s.cancel = nil
		close(idle)
	}, nil
}
