package plugin

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"strconv"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	gorunner "github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/protocol"
)

// largestMessage bounds one message of a plugin, in bytes. Log lines are cut at a much lower length.
const largestMessage = 1 << 20

// session is one process of a plugin and the connection to it.
type session struct {
	process *process
	client  *goplugin.Client
	// sockets is the folder of its sockets.
	sockets string
	// output and errors take what the plugin prints after the handshake.
	output, errors *printed
}

// newSession makes a session; connect starts its process later. Unless something watches over the
// process, it is killed at the instant in the setting. It does not start once ctx has ended. The
// caller must call close.
func newSession(ctx context.Context, in setting) (*session, error) {
	sockets, err := makeSockets(os.TempDir(), "/tmp")
	if err != nil {
		return nil, err
	}
	unix := &goplugin.UnixSocketConfig{TempDir: sockets}
	if u := in.User; u != nil {
		unix.Group = strconv.FormatUint(uint64(u.GID), 10) // otherwise the plugin could not make its socket
		if err := os.Chown(sockets, int(u.UID), int(u.GID)); err != nil {
			_ = os.Remove(sockets)
			return nil, fmt.Errorf("folder for its sockets: %w", err)
		}
	}
	s := &session{
		process: &process{setting: in, started: make(chan *deadman.Process, 1)},
		sockets: sockets,
		output:  &printed{to: child.Lines(in.log, "stdout", in.output.Of("printed to stdout"))}, errors: &printed{to: child.Lines(in.log, "stderr", in.output.Of("printed to stderr"))},
	}
	s.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  protocol.Handshake,
		VersionedPlugins: protocol.Versions(nil),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		UnixSocketConfig: unix,
		GRPCDialOptions:  []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage))},
		SyncStdout:       s.output,
		SyncStderr:       s.errors,
		Logger:           hclog.NewNullLogger(),
		RunnerFunc: func(_ hclog.Logger, spec *osexec.Cmd, _ string) (gorunner.Runner, error) {
			return &runner{s.process, ctx, spec}, nil
		},
	})
	return s, nil
}

// connect starts the process and shakes hands. It sends the process to s.process.started as soon as
// the process runs; the receiver kills it if connect takes too long.
func (s *session) connect() (protocol.RunnerClient, error) {
	client, err := s.client.Client()
	if err != nil {
		return nil, &StartError{Plugin: s.process.program.Name, Err: err}
	}
	service, err := client.Dispense(protocol.Name)
	if err != nil {
		return nil, &StartError{Plugin: s.process.program.Name, Err: err}
	}
	return service.(protocol.RunnerClient), nil
}

// close ends everything. The process must be dead, or never have started.
func (s *session) close() {
	s.client.Kill()
	child.AtOnce(s.process.close, s.output.close, s.errors.close)
	_ = os.RemoveAll(s.sockets) // the folder is temporary, and empty by now
}

// ready asks the plugin whether it could work with a configuration.
func ready(ctx context.Context, name string, service protocol.RunnerClient, config []byte) error {
	answer, err := service.Ready(ctx, &protocol.ReadyRequest{Config: config})
	if err != nil {
		return &StartError{Plugin: name, Err: err}
	}
	if problem := answer.GetProblem(); problem != "" {
		return &WorkError{Plugin: name, Problem: child.Words(problem)}
	}
	return nil
}
