package protocol

import (
	"context"
	"errors"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Version is that of the protocol. A program says all that it knows, a plugin picks one.
const Version = 1

// Handshake tells a plugin that it was started as one. It is no secret, and guards nothing.
var Handshake = goplugin.HandshakeConfig{
	MagicCookieKey:   "PRIMACY_PLUGIN",
	MagicCookieValue: "9cd0fa30-runner",
}

// Name is the one service of a plugin.
const Name = "runner"

// Versions are the plugin sets of all versions that are known; server is nil on the side
// of the program.
func Versions(server RunnerServer) map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{Version: {Name: &service{server: server}}}
}

type service struct {
	goplugin.NetRPCUnsupportedPlugin
	server RunnerServer
}

var errNoServer = errors.New("protocol: nothing to serve")

func (s *service) GRPCServer(_ *goplugin.GRPCBroker, registrar *grpc.Server) error {
	if s.server == nil {
		return errNoServer
	}
	RegisterRunnerServer(registrar, s.server)
	return nil
}

func (s *service) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return NewRunnerClient(c), nil
}
