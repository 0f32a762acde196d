package protocol

import (
	"context"
	"errors"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Version is the protocol's version. A program offers all that it knows, a plugin picks one.
const Version = 1

// Handshake tells a plugin that it runs as one. It is no secret, and protects nothing.
var Handshake = goplugin.HandshakeConfig{
	MagicCookieKey:   "PRIMACY_PLUGIN",
	MagicCookieValue: "9cd0fa30-runner",
}

// Name is the one service of a plugin.
const Name = "runner"

// Versions returns the plugin sets of all known versions; server is nil in the program that runs
// plugins.
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
