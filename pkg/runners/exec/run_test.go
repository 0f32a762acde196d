//go:build linux

package exec_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

// observed returns a log and the lines written to it.
func observed() (*zap.Logger, *observer.ObservedLogs) {
	core, logs := observer.New(zap.DebugLevel)
	return zap.New(core), logs
}

// output returns what a program wrote to one of its outputs.
func output(logs *observer.ObservedLogs, stream string) []string {
	var lines []string
	for _, e := range logs.FilterMessage("output").FilterField(zap.String("stream", stream)).All() {
		lines = append(lines, e.ContextMap()["line"].(string))
	}
	return lines
}

// runShell runs a script to its end. Tests use it for short programs: the runner itself knows no
// shell.
func runShell(t *testing.T, script string, change func(*exec.Command)) (*observer.ObservedLogs, error) {
	t.Helper()
	log, logs := observed()
	c := exec.Command{Name: "work", Args: []string{"/bin/sh", "-c", script}, StopGrace: time.Second, Log: log}
	if change != nil {
		change(&c)
	}
	return logs, exec.New(c).Run(t.Context(), term(time.Hour))
}

func TestEnvironmentIsListed(t *testing.T) {
	t.Setenv("SOME_SECRET", "hunter2")
	t.Setenv("PRIMACY_KUBECONFIG", "/etc/primacy")
	t.Setenv("TZ", "UTC")
	t.Setenv("HOME", "/root")
	logs, _ := runShell(t, "exec /usr/bin/env", func(c *exec.Command) { c.Env = []string{"MODE=leader", "HOME=/srv"} })
	got := output(logs, "stdout")
	var names []string
	for _, line := range got {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	for _, want := range []string{"MODE=leader", "HOME=/srv", "TZ=UTC", "PRIMACY_ELECTION=e", "PRIMACY_IDENTITY=host_1",
		"PRIMACY_MEMBER_REVISION=1-0", "PRIMACY_TOKEN=7", "PRIMACY_EXTENSIONS_FD=3"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	allowed := []string{"PATH", "HOME", "TMPDIR", "TZ", "LANG", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT",
		"PRIMACY_ELECTION", "PRIMACY_IDENTITY", "PRIMACY_MEMBER_REVISION", "PRIMACY_TOKEN", "PRIMACY_DEADLINE", "PRIMACY_EXTENSIONS_FD",
		"MODE", "PWD", "OLDPWD", "SHLVL", "_"} // the last four are the shell's
	for i, name := range names {
		if !slices.Contains(allowed, name) {
			t.Errorf("%s must not be there", got[i])
		}
		if slices.Contains(names[:i], name) {
			t.Errorf("%s is there twice", name)
		}
	}
}

func TestFilesAreClosed(t *testing.T) {
	// A file without the close-on-exec flag, like one that primacy was started with.
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	logs, _ := runShell(t, "for f in /proc/$$/fd/*; do readlink $f; done", nil)
	files := output(logs, "stdout")
	if len(files) != 4 || files[0] != "/dev/null" {
		t.Errorf("the program has open: %q, want /dev/null and three pipes", files)
	}
	for _, f := range files[min(1, len(files)):] {
		if !strings.HasPrefix(f, "pipe:") {
			t.Errorf("the program has %s open", f)
		}
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\npwd\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	logs, _ := runShell(t, "", func(c *exec.Command) { c.Args, c.Dir = []string{"./here"}, dir })
	if got := output(logs, "stdout"); len(got) != 1 || got[0] != dir {
		t.Errorf("it ran in %q, want %q", got, dir)
	}
}

// TestAStartDoesNotLookItself checks that only the supervisor looks at a program with a slash: if a file system does not
// answer, the look holds up the process that looks, and nobody could end that by the deadline in this one. The path leads to
// the program only for a process in dir.
func TestAStartDoesNotLookItself(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there"), []byte("#!/bin/sh\necho began\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	logs, err := runShell(t, "", func(c *exec.Command) { c.Args, c.Dir = []string{"/proc/self/cwd/there"}, dir })
	if got := output(logs, "stdout"); len(got) != 1 || got[0] != "began" {
		t.Errorf("it wrote %q (%v)", got, err)
	}
}

func TestOwnProcessGroup(t *testing.T) {
	logs, _ := runShell(t, "read -r pid _ _ _ group _ < /proc/$$/stat; echo $pid $group", nil)
	got := strings.Fields(strings.Join(output(logs, "stdout"), " "))
	if len(got) != 2 || got[0] != got[1] || got[0] == strconv.Itoa(syscall.Getpgrp()) {
		t.Errorf("process and group are %q", got)
	}
}

func TestExitErrors(t *testing.T) {
	for script, want := range map[string]string{
		"exit 3":        "/bin/sh exited with status 3 before its term ended",
		"exit 0":        "/bin/sh exited with status 0 before its term ended",
		"kill -KILL $$": "/bin/sh was ended by signal killed before its term ended",
	} {
		_, err := runShell(t, script, nil)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", script, err, want)
		}
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"plain": "", "script": "#!/does/not/exist\n", "garbage": "garbage"} {
		mode := os.FileMode(0o700)
		if name == "plain" {
			mode = 0o600
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		command exec.Command
		want    []string
	}{
		"no such name":   {exec.Command{Args: []string{"no-such-program"}}, []string{"cannot start no-such-program", "not found in $PATH", os.Getenv("PATH"), "./no-such-program"}},
		"no such path":   {exec.Command{Args: []string{"./nothing"}, Dir: dir}, []string{"cannot start ./nothing", dir + "/nothing", "no such file", "starts at dir"}},
		"no such dir":    {exec.Command{Args: []string{"sh"}, Dir: dir + "/sub"}, []string{"cannot start sh", "dir must be"}},
		"not executable": {exec.Command{Args: []string{dir + "/plain"}}, []string{"permission denied", "chmod +x"}},
		"no interpreter": {exec.Command{Args: []string{dir + "/script"}}, []string{"no such file", "interpreter"}},
		"no program":     {exec.Command{Args: []string{dir + "/garbage"}}, []string{"exec format error", "#!"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := exec.New(c.command).Run(t.Context(), term(time.Hour))
			var start *exec.StartError
			if !errors.As(err, &start) {
				t.Fatalf("got %v, want a StartError", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
		})
	}
}

func TestOutputLines(t *testing.T) {
	logs, err := runShell(t, `echo one; echo two >&2; printf 'three\r\n\nfour'`, nil)
	if err == nil {
		t.Fatal("no error")
	}
	if got := output(logs, "stdout"); !slices.Equal(got, []string{"one", "three", "", "four"}) {
		t.Errorf("stdout: %q", got)
	}
	if got := output(logs, "stderr"); !slices.Equal(got, []string{"two"}) {
		t.Errorf("stderr: %q", got)
	}
	fields := logs.FilterMessage("output").All()[0].ContextMap()
	for field, want := range map[string]any{"election": "e", "identity": "host_1", "revision": "1-0", "term": uint64(7), "runner": "work"} {
		if fields[field] != want {
			t.Errorf("field %s is %v, want %v", field, fields[field], want)
		}
	}
}

func TestNoiseIsCut(t *testing.T) {
	stage := runnertest.NewStage(t)
	log, logs := observed()
	c := command(t, runnertest.Work{Act: runnertest.Noise, Pipe: stage.Pipe, StopGrace: time.Minute}, log)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- exec.New(c).Run(ctx, term(time.Hour)) }()
	stage.Await("began")
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{"stdout", "stderr"} {
		got := output(logs, stream)
		// Built for coverage, the program adds a warning to its last line.
		if len(got) < 3 || len(got[0]) != 64<<10 || !strings.HasPrefix(got[2], "no end") {
			t.Errorf("%s has %d lines, want a long one that is cut, garbage, and one without an end", stream, len(got))
		}
	}
	if n := logs.FilterField(zap.Bool("cut", true)).Len(); n != 2 {
		t.Errorf("%d lines are marked as cut, want 2", n)
	}
}

// TestEscapedProcessIsKilled checks that a process that left the group, and whose parent has ended,
// is killed with the rest.
func TestEscapedProcessIsKilled(t *testing.T) {
	stage := runnertest.NewStage(t)
	log, logs := observed()
	c := command(t, runnertest.Work{Act: runnertest.Ignore, Pipe: stage.Pipe}, log)
	c.Args = []string{"/bin/sh", "-c", `(setsid "$0" & :); while ! [ -e "$GO" ]; do :; done; echo after; exit 5`, c.Args[0]}
	gate := filepath.Join(t.TempDir(), "go")
	c.Env = append(c.Env, "GO="+gate)
	done := make(chan error, 1)
	go func() { done <- exec.New(c).Run(t.Context(), term(time.Hour)) }()
	stage.Await("began")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "status 5") {
		t.Errorf("got %v", err)
	}
	if got := output(logs, "stdout"); !slices.Equal(got, []string{"after"}) {
		t.Errorf("stdout: %q", got)
	}
	if stage.Alive() {
		t.Error("the process that escaped lives")
	}
}

func TestNothingIsStartedForNothing(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		valid time.Duration
		want  error
	}{
		"cancelled before":          {cancelled, time.Hour, nil},
		"deadline passed":           {t.Context(), -time.Second, runners.ErrDeadline},
		"deadline too near to kill": {t.Context(), time.Millisecond, runners.ErrDeadline},
	} {
		log, logs := observed()
		err := exec.New(exec.Command{Name: "work", Args: []string{"sleep", "60"}, Log: log}).Run(c.ctx, term(c.valid))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if logs.Len() > 0 {
			t.Errorf("%s: logged: %v", name, logs.All())
		}
	}
}

func TestDeadlineIsLogged(t *testing.T) {
	log, logs := observed()
	err := exec.New(exec.Command{Name: "work", Args: []string{"sleep", "60"}, Log: log}).Run(t.Context(), term(2*time.Second))
	if !errors.Is(err, runners.ErrDeadline) {
		t.Errorf("got %v", err)
	}
	if logs.FilterLevelExact(zap.ErrorLevel).Len() != 1 {
		t.Errorf("logged: %v", logs.All())
	}
}
