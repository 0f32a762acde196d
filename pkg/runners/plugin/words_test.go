package plugin_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners/plugin"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/protocol"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/sdk"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

// Plugins that send texts that they should not.
const (
	shouts      = "says 64 MiB at once"
	saysNoText  = "says what is no text"
	failsNoText = "fails of what is no text"
)

var speakers = []string{shouts, saysNoText, failsNoText}

func speak(act string) {
	if act == shouts {
		goplugin.Serve(&goplugin.ServeConfig{
			HandshakeConfig: protocol.Handshake, VersionedPlugins: protocol.Versions(shouter{}), GRPCServer: goplugin.DefaultGRPCServer,
		})
		os.Exit(0)
	}
	sdk.Serve(sdk.Plugin{Name: "work", Run: func(_ context.Context, _ election.Term, h *sdk.Host) error {
		if act == failsNoText {
			return errors.New("caf\xe9")
		}
		h.Log(sdk.Info, "caf\xe9")
		h.Log(sdk.Info, strings.Repeat("é", 1<<20))
		return errors.New("said it")
	}})
}

type shouter struct{ ending }

func (shouter) Run(s protocol.Runner_RunServer) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	said := &protocol.RunEvent{Event: &protocol.RunEvent_Log{Log: &protocol.Log{Message: strings.Repeat("x", 64<<20)}}}
	if err := s.Send(said); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

// TestWhatIsSaid checks that, whatever a plugin sends, its member learns that the work has ended, and
// does not use much memory for it.
func TestWhatIsSaid(t *testing.T) {
	for act, want := range map[string]string{shouts: "larger than max", saysNoText: "said it", failsNoText: "caf\uFFFD"} {
		t.Run(act, func(t *testing.T) {
			p := plugin.New(plugin.Plugin{
				Name: "work", Program: testPlugin(t), StopGrace: 200 * time.Millisecond, Env: environment(runnertest.Work{Act: runnertest.Act(act)}),
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			err := p.Run(ctx, term(time.Hour))
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("it returned %v, want %q", err, want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
				t.Errorf("it took %d MiB", took>>20)
			}
		})
	}
}
