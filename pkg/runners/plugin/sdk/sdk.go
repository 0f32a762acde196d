package sdk

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/protocol"
)

// Plugin describes the plugin that a program serves.
type Plugin struct {
	// Name and Version are shown to people.
	Name, Version string
	// Ready, if set, returns why the plugin could not work with a configuration (YAML, empty if there
	// is none), or nil. The host calls it before any election is won, and before each term. Ready
	// must do no work.
	Ready func(ctx context.Context, config []byte) error
	// Run is the work of a term, like election.Runner's: it works until ctx is cancelled, and returns
	// only when all of the work has stopped. The term's deadline is extended while Run works. Each
	// run is a process of its own.
	Run func(ctx context.Context, term election.Term, h *Host) error
}

// Serve serves the plugin, and does not return; the program that started the plugin ends it. What the
// plugin prints becomes lines of that program's log.
func Serve(p Plugin) {
	s := &server{plugin: p, idle: make(chan struct{})}
	close(s.idle)
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() { // ends with the process
		<-term
		s.stop(election.Stop{Reason: "the process was told to end"})
		<-s.whenIdle()
		os.Exit(0)
	}()
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  protocol.Handshake,
		VersionedPlugins: protocol.Versions(s),
		GRPCServer:       goplugin.DefaultGRPCServer,
		Logger:           hclog.NewNullLogger(),
	})
	os.Exit(0)
}
