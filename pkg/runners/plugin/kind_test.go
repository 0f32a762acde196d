package plugin_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/plugin"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
	"github.com/primacy-dev/primacy/pkg/strict"
)

func decode(t *testing.T, kind runners.Decoder, block string) (runners.Child, error) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("{name: w, plugin: "+block+"}"), &doc); err != nil {
		t.Fatal(err)
	}
	reg := runners.NewRegistry()
	reg.Register("plugin", kind)
	return reg.Decode(doc.Content[0], runners.Env{Election: "e", StopGrace: 5 * time.Second})
}

// folderWithSelf makes a plugin folder in which this test binary is the plugin named work.
func folderWithSelf(t *testing.T) (dir, hash string) {
	t.Helper()
	dir = t.TempDir()
	p, err := self(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, p.SHA256
}

func write(t *testing.T, path, text string, mode os.FileMode) (hash string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestDecodeRefuses(t *testing.T) {
	dir := t.TempDir()
	hash := write(t, filepath.Join(dir, "garbage"), "no program", 0o700)
	write(t, filepath.Join(dir, "plain"), "no program", 0o600)
	if err := os.Symlink("garbage", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	script := write(t, filepath.Join(dir, "script"), "#!/bin/sh\necho hello\n", 0o700)
	other := `"` + strings.Repeat("0", 64) + `"`
	for block, want := range map[string]string{
		"{sha256: " + other + "}": "plugin.name: is missing",
		"{name: garbage, sha256: " + hash + ", env: [{name: PLUGIN_MIN_PORT, value: x}]}": "plugin.env[0].name: PLUGIN_MIN_PORT is reserved",
		"{name: garbage}":             "plugin.sha256: is missing",
		`{name: garbage, sha256: ""}`: "plugin.sha256: is not a sha256",
		"{name: garbage, sha256: " + strings.ToUpper(hash) + "}":                        "plugin.sha256: is not a sha256",
		"{name: ../garbage, sha256: " + hash + "}":                                      `"../garbage" cannot be the name of a plugin`,
		"{name: /bin/true, sha256: " + hash + "}":                                       `"/bin/true" cannot be the name`,
		`{name: "", sha256: ` + hash + "}":                                              `"" cannot be the name`,
		"{name: .hidden, sha256: " + hash + "}":                                         `".hidden" cannot be the name`,
		"{name: nothing, sha256: " + hash + "}":                                         "no such file",
		"{name: link, sha256: " + hash + "}":                                            "is a symbolic link",
		"{name: folder, sha256: " + hash + "}":                                          "is no regular file",
		"{name: plain, sha256: " + hash + "}":                                           "is not executable (chmod +x)",
		"{name: garbage, sha256: " + other + "}":                                        "is not the one that the configuration names: its sha256 is " + hash,
		"{name: garbage, sha256: " + hash + "}":                                         "exec format error",
		"{name: script, sha256: " + script + "}":                                        "cannot be used",
		"{name: garbage, sha256: " + hash + ", stopGrace: 6s}":                          "is longer than the election's stopGrace 5s",
		"{name: garbage, sha256: " + hash + ", stopGrace: -1s}":                         "-1s is negative",
		"{name: garbage, sha256: " + hash + ", path: /bin/garbage}":                     "plugin.path: unknown field",
		"{name: garbage, sha256: " + hash + ", env: [{name: PRIMACY_TOKEN, value: x}]}": "among the names that primacy sets itself",
	} {
		_, err := decode(t, plugin.Kind(plugin.Folder(dir)), block)
		var mistakes strict.Errors
		if err == nil || !errors.As(err, &mistakes) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", block, err, want)
		}
	}
}

// TestStrangersAreRefused checks that Kind refuses a plugin of another program or protocol version,
// and a plugin that refuses its configuration.
func TestStrangersAreRefused(t *testing.T) {
	dir, hash := folderWithSelf(t)
	for act, want := range map[string]string{
		wrongCookie:  "cannot be used",
		wrongVersion: "ncompatible",
		unready:      `it does not like "{greeting: hello}"`,
	} {
		_, err := decode(t, plugin.Kind(plugin.Folder(dir)),
			"{name: work, sha256: "+hash+", config: {greeting: hello}, env: [{name: "+actVariable+", value: "+act+"}]}")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", act, err, want)
		}
	}
}

func term(valid time.Duration) election.Term {
	deadline := clock.Boottime().Now().Add(valid)
	term, _ := election.NewTerm(election.Term{Election: "e", Identity: "host_1", Revision: "1-0", Token: 7}, deadline)
	return term
}

// TestFileChangesAfterItWasVerified checks that the verified plugin still runs, whatever happens to
// its file, and that the changed file is refused.
func TestFileChangesAfterItWasVerified(t *testing.T) {
	dir, hash := folderWithSelf(t)
	path := filepath.Join(dir, "work")
	stage := runnertest.NewStage(t)
	block := "{name: work, sha256: " + hash + ", env: [{name: " + actVariable + ", value: obey}, {name: " + pipeVariable + ", value: " + stage.Pipe + "}]}"
	kind := plugin.Kind(plugin.Folder(dir))
	c, err := decode(t, kind, block)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("#!/bin/false\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"overwritten": func() error { return os.WriteFile(path, []byte("#!/bin/false\n"), 0o700) }, // or, after "swapped", the file that the link leads to
		"swapped": func() error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink(other, path)
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Runner.Run(ctx, term(time.Hour)) }()
		stage.Await("began")
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%s: the verified plugin does not run any more: %v", name, err)
		}
		if _, err := decode(t, plugin.Kind(plugin.Folder(dir)), block); err == nil {
			t.Errorf("%s: the changed file was accepted", name)
		}
	}
	if _, err := decode(t, kind, block); err != nil {
		t.Errorf("what was verified is not remembered: %v", err)
	}
	runtime.KeepAlive(c) // a plugin is remembered while a runner uses it
}

func TestWhatItSaysIsLogged(t *testing.T) {
	stage := runnertest.NewStage(t)
	core, logs := observer.New(zap.DebugLevel)
	w := runnertest.Work{Act: runnertest.Noise, Pipe: stage.Pipe}
	r := plugin.New(plugin.Plugin{Name: "work", Program: testPlugin(t), Env: environment(w), StopGrace: time.Minute, Log: zap.New(core)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx, term(time.Hour)) }()
	stage.Await("began")
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for message, want := range map[string]zap.Field{
		"plugin says":        zap.String("line", "a line of its own"),
		"plugin progresses":  zap.String("progress", "half of it"),
		"plugin is not well": zap.String("problem", "not so well"),
	} {
		if logs.FilterMessage(message).FilterField(want).FilterField(zap.Uint64("term", 7)).Len() != 1 {
			t.Errorf("not logged: %s: %v", message, want)
		}
	}
}

func TestEnvironmentIsListed(t *testing.T) {
	t.Setenv("SOME_SECRET", "hunter2")
	stage := runnertest.NewStage(t)
	r := plugin.New(plugin.Plugin{Name: "work", Program: testPlugin(t), StopGrace: time.Minute,
		Env: environment(runnertest.Work{Act: showEnvironment, Pipe: stage.Pipe})})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx, term(time.Hour)) }()
	got := strings.Fields(stage.Await("environment"))
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	allowed := []string{"PATH", "HOME", "TMPDIR", "TZ", "LANG", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT",
		"GORACE", actVariable, pipeVariable, "PRIMACY_ELECTION", "PRIMACY_IDENTITY", "PRIMACY_MEMBER_REVISION", "PRIMACY_TOKEN", "PRIMACY_DEADLINE",
		"PRIMACY_PLUGIN", "PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_CLIENT_CERT", "PLUGIN_UNIX_SOCKET_DIR"}
	list := " " + strings.Join(allowed, " ") + " "
	for _, name := range got {
		if !strings.Contains(list, " "+name+" ") {
			t.Errorf("%s must not be there", name)
		}
	}
	if !strings.Contains(strings.Join(got, " "), "PLUGIN_CLIENT_CERT") {
		t.Error("the plugin is not told of a certificate: its socket is open to all")
	}
}

// TestNothingIsLeftBehind checks that no sockets and no copies remain, whether or not a plugin can be
// used.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, act := range []runnertest.Act{runnertest.Obey, wrongCookie} {
		err := plugin.Plugin{Program: testPlugin(t), Env: environment(runnertest.Work{Act: act})}.Ready(t.Context())
		if (err == nil) != (act == runnertest.Obey) {
			t.Errorf("%s: %v", act, err)
		}
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("it leaves %v behind (%v)", left, err)
	}
}
