package plugin_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"go.uber.org/goleak"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners/plugin"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/protocol"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/sdk"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

const (
	actVariable  = "PLUGINTEST_ACT"
	pipeVariable = "RUNNERTEST_PIPE" // the same name as in runnertest: helpers read it
)

// Acts of plugins that must be refused.
const (
	wrongCookie  = "wrong cookie"
	wrongVersion = "wrong version"
	unready      = "unready"
	// showEnvironment reports the names of its variables.
	showEnvironment = "show environment"
)

func TestMain(m *testing.M) {
	runnertest.Become() // before all else: a plugin's helper inherits the plugin's environment
	if act := os.Getenv(actVariable); act != "" {
		bePlugin(runnertest.Act(act))
	}
	var program *plugin.Program
	runnertest.BecomeManager(func(w runnertest.Work) (election.Runner, error) {
		if program != nil {
			return runner(program, w), nil
		}
		dir, err := os.MkdirTemp("", "plugintest-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		path, err := w.Program()
		if err != nil {
			return nil, err
		}
		program, err = load(path, dir)
		if err != nil {
			return nil, err
		}
		return runner(program, w), nil
	})
	goleak.VerifyTestMain(m)
}

// self loads this test binary as a plugin.
func self(dir string) (*plugin.Program, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return load(path, dir)
}

// load loads a program as a plugin, through a plugin folder made in dir.
func load(path, dir string) (*plugin.Program, error) {
	from, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "work"), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o700)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(to, from); err != nil {
		return nil, err
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	return plugin.Folder(dir).Load("work")
}

var loaded struct {
	sync.Once
	program *plugin.Program
	err     error
}

// testPlugin is this test binary as a plugin, loaded once.
func testPlugin(t *testing.T) *plugin.Program {
	t.Helper()
	loaded.Do(func() { loaded.program, loaded.err = self(t.TempDir()) })
	if loaded.err != nil {
		t.Fatal(loaded.err)
	}
	return loaded.program
}

func environment(w runnertest.Work) []string {
	env := []string{actVariable + "=" + string(w.Act)}
	for name, value := range w.Env() {
		if name != "RUNNERTEST_ACT" { // with that variable this process would not be a plugin
			env = append(env, name+"="+value)
		}
	}
	return env
}

func runner(program *plugin.Program, w runnertest.Work) election.Runner {
	return plugin.New(plugin.Plugin{Name: "work", Program: program, Env: environment(w), StopGrace: w.StopGrace})
}

// bePlugin serves an act. It does not return.
func bePlugin(act runnertest.Act) {
	time.AfterFunc(time.Minute, func() { os.Exit(99) })
	if act == runnertest.Slow {
		signal.Ignore(syscall.SIGTERM)
		tell, err := runnertest.Enter(os.Getenv(pipeVariable))
		if err != nil {
			os.Exit(98)
		}
		tell.Event("starting")
		select {}
	}
	if slices.Contains(endings, string(act)) {
		ending{act: string(act)}.serve()
	}
	if slices.Contains(speakers, string(act)) {
		speak(string(act))
	}
	served := &goplugin.ServeConfig{
		HandshakeConfig:  protocol.Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{protocol.Version: protocol.Versions(nil)[protocol.Version]},
		GRPCServer:       goplugin.DefaultGRPCServer,
	}
	switch string(act) {
	case wrongCookie:
		served.MagicCookieValue = "of another program"
		goplugin.Serve(served)
	case wrongVersion:
		served.VersionedPlugins = map[int]goplugin.PluginSet{99: protocol.Versions(protocol.UnimplementedRunnerServer{})[protocol.Version]}
		goplugin.Serve(served)
	default:
		sdk.Serve(sdk.Plugin{Name: "work", Version: "1.2.3", Run: work, Ready: func(_ context.Context, config []byte) error {
			if act == unready {
				return fmt.Errorf("it does not like %q", strings.TrimSpace(string(config)))
			}
			return nil
		}})
	}
	os.Exit(0)
}

// work does the act as a plugin's run.
func work(ctx context.Context, term election.Term, h *sdk.Host) error {
	w := runnertest.Work{Act: runnertest.Act(os.Getenv(actVariable)), Pipe: os.Getenv(pipeVariable)}
	if w.Act == runnertest.Obey || w.Act == runnertest.Crash {
		return w.Run(ctx, term)
	}
	tell, err := runnertest.Enter(w.Pipe)
	if err != nil {
		return err
	}
	told := func() error { return nil }
	switch w.Act {
	case runnertest.Fork, runnertest.ForkCrash:
		var pid int
		if pid, told, err = runnertest.StartHelper(); err != nil {
			return err
		}
		tell.Event("helper %d", pid)
	case runnertest.Forks:
		if told, err = runnertest.StartHelpers(); err != nil {
			return err
		}
	case runnertest.Detach:
		if err := runnertest.StartDetached(); err != nil {
			return err
		}
	case runnertest.Mob:
		if err := runnertest.Gather(tell); err != nil {
			return err
		}
		select {}
	case runnertest.Flood:
		go runnertest.MakeFlood(tell) // ends with the process
	case showEnvironment:
		var names []string
		for _, v := range os.Environ() {
			if name, _, _ := strings.Cut(v, "="); !strings.ContainsAny(v, "\n") || name == "PLUGIN_CLIENT_CERT" {
				names = append(names, name)
			}
		}
		tell.Event("environment %s", strings.Join(names, " "))
	case runnertest.Noise:
		runnertest.MakeNoise()
		h.Log(sdk.Warn, "a line of its own")
		h.Progress("half of it")
		h.Health(fmt.Errorf("not so well"))
		tell.Event("noisy")
	}
	tell.Event("began %s %s %s %d", term.Election, term.Identity, term.Revision, term.Token)
	if w.Act == runnertest.ForkCrash {
		os.Exit(7)
	}
	<-ctx.Done()
	if w.Act == runnertest.Ignore {
		tell.Event("ignored")
		select {}
	}
	if err := told(); err != nil {
		return err
	}
	tell.Event("stopping")
	return nil
}
