//go:build linux

package probe_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/probe"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// asked is a probe that asks until the test ends.
type asked struct {
	t       *testing.T
	reports chan error
	end     func()
}

// quick is a Spec that a test need not wait for.
var quick = probe.Spec{Period: 10 * time.Millisecond, Timeout: 10 * time.Second, Failures: 1, Successes: 1}

func ask(t *testing.T, s probe.Spec, p probe.Program) *asked {
	t.Helper()
	if p.Locate == nil {
		p.Locate = func() (string, error) { return "/bin/sh", nil }
	}
	ctx, cancel := context.WithCancel(context.Background())
	a := &asked{t: t, reports: make(chan error, 1<<16)}
	over := make(chan error, 1)
	go func() {
		over <- probe.New(s, p, probe.NewTurns()).Readiness(ctx, func(problem error) { a.reports <- problem })
	}()
	ended := false
	a.end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		select {
		case err := <-over:
			if err != nil {
				t.Errorf("Readiness returned %v", err)
			}
		case <-clock.NewTimer(patience).C:
			t.Error("Readiness does not return")
		}
	}
	t.Cleanup(a.end)
	return a
}

// shell is a command probe.
func shell(script string, change ...func(*probe.Spec)) probe.Spec {
	s := quick
	s.Command = []string{"sh", "-c", script}
	for _, c := range change {
		c(&s)
	}
	return s
}

// next is the next report.
func (a *asked) next() string {
	a.t.Helper()
	select {
	case problem := <-a.reports:
		if problem == nil {
			return "ready"
		}
		return problem.Error()
	case <-clock.NewTimer(patience).C:
		a.t.Fatal("no report")
	}
	return ""
}

// await waits for a report that contains the text.
func (a *asked) await(text string) string {
	a.t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); {
		if got := a.next(); strings.Contains(got, text) {
			return got
		}
	}
	a.t.Fatalf("no report %q", text)
	return ""
}

func TestCommandSays(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0": "ready",
		"exit 3": "sh exited with status 3",
		"echo first; echo; echo no credentials >&2; echo; exit 1": "sh exited with status 1: no credentials",
		`printf 'bad \302\233\033[31m\377'; exit 1`:               "sh exited with status 1: bad \\u009b [31m\ufffd",
		"kill -9 $$": "sh was ended by signal killed",
		"head -c 30000000 /dev/zero | tr '\\0' x; exit 2":     "sh exited with status 2: " + strings.Repeat("x", 200) + "...",
		`[ "$PRIMACY_ELECTION $MODE $SECRET" = "e leader " ]`: "ready",
	} {
		t.Run(script, func(t *testing.T) {
			t.Setenv("SECRET", "of primacy")
			a := ask(t, shell(script), probe.Program{Election: "e", Env: []string{"MODE=leader"}})
			if got := a.next(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestHangingCommand checks that a probe that hangs fails, and is killed with what it started, in its group and outside.
func TestHangingCommand(t *testing.T) {
	stage := runnertest.NewStage(t)
	a := ask(t, shell(`trap "" TERM; exec 9>"$PIPE"; setsid sleep 600 & sleep 600 & echo began >&9; echo waits for the database; wait`, func(s *probe.Spec) {
		s.Timeout, s.Period = 5*time.Second, time.Hour
	}), probe.Program{Env: []string{"PIPE=" + stage.Pipe}})
	stage.Await("began")
	if got, want := a.next(), "sh gave no answer within 5s, and was killed: waits for the database"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if stage.Alive() {
		t.Error("something of it lives")
	}
}

// TestForkingCommand checks that nothing is left of a probe that answers and leaves processes behind.
func TestForkingCommand(t *testing.T) {
	stage := runnertest.NewStage(t)
	a := ask(t, shell(`exec 9>"$PIPE"; for i in 1 2 3; do setsid sh -c 'sleep 600 & sleep 600' & done; echo began >&9; exit 0`, func(s *probe.Spec) {
		s.Period = time.Hour
	}), probe.Program{Env: []string{"PIPE=" + stage.Pipe}})
	stage.Await("began")
	if got := a.next(); got != "ready" {
		t.Errorf("got %q", got)
	}
	if stage.Alive() {
		t.Error("something of it lives")
	}
}

// TestCommandEndsWithItsElection checks that Readiness ends a probe that runs.
func TestCommandEndsWithItsElection(t *testing.T) {
	stage := runnertest.NewStage(t)
	a := ask(t, shell(`trap "" TERM; exec 9>"$PIPE"; setsid sleep 600 & echo began >&9; sleep 600; wait`, func(s *probe.Spec) { s.Timeout = time.Hour }),
		probe.Program{Env: []string{"PIPE=" + stage.Pipe}})
	stage.Await("began")
	a.end()
	if stage.Alive() {
		t.Error("something of it lives")
	}
	if len(a.reports) > 0 {
		t.Errorf("it reports %q", a.next())
	}
}

func TestCommandThatCannotStart(t *testing.T) {
	nothing := func() (string, error) { return "/does/not/exist", nil }
	if got := ask(t, shell("exit 0"), probe.Program{Locate: nothing}).next(); got != "sh cannot start: no such file or directory" {
		t.Errorf("got %q", got)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ready")
	s := quick
	s.File = "ready"
	a := ask(t, s, probe.Program{Dir: dir})
	for range 3 {
		a.await(path + " is not there")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		a.await("ready")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.File = filepath.Join(path, "below")
	if got := ask(t, s, probe.Program{}).next(); !strings.Contains(got, "not a directory") {
		t.Errorf("below a file: %q", got)
	}
}

func TestHTTP(t *testing.T) {
	answers := make(chan http.HandlerFunc)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (<-answers)(w, r) }))
	defer server.Close()
	s := quick
	address := server.URL + "/ready"
	s.HTTP, s.Timeout = address+"?deep", 2*time.Second
	a := ask(t, s, probe.Program{})
	for _, tt := range []struct {
		answer http.HandlerFunc
		want   string
	}{
		{func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no database", http.StatusServiceUnavailable)
		}, address + " answered 503 Service Unavailable: no database"},
		{func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "deep" || r.Header.Get("User-Agent") != "primacy" {
				w.WriteHeader(http.StatusTeapot)
			}
			w.WriteHeader(http.StatusNoContent)
		}, "ready"},
		{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusFound)
		}, address + " answered 302 Found"},
		{func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, address + ": no answer within 2s"},
		{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(299) }, "ready"},
	} {
		answers <- tt.answer
		if got := a.next(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	a.end()
	server.Close()
	if got := ask(t, s, probe.Program{}).next(); !strings.HasPrefix(got, address+": ") || !strings.HasSuffix(got, "connection refused") {
		t.Errorf("nobody there: %q", got)
	}
}
