//go:build linux

package funcs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/funcs"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	runnertest.Test(t, runnertest.Kind{
		Name: "func",
		New:  func(_ *testing.T, w runnertest.Work) election.Runner { return election.RunnerFunc(w.Run) },
		Acts: runnertest.InProcess,
	})
}

func decode(t *testing.T, table *funcs.Table, block string, env runners.Env) (runners.Child, error) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("{name: w, func: "+block+"}"), &doc); err != nil {
		t.Fatal(err)
	}
	reg := runners.NewRegistry()
	reg.Register("func", table.Kind())
	return reg.Decode(doc.Content[0], env)
}

func table() *funcs.Table {
	t := funcs.NewTable()
	t.Register("plain", func(context.Context, election.Term) error { return errPlain })
	t.RegisterFactory(funcs.HeartbeatName, funcs.Heartbeat)
	return t
}

var errPlain = errors.New("plain was run")

func TestPlainFunction(t *testing.T) {
	c, err := decode(t, table(), "{kind: plain}", runners.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Runner.Run(t.Context(), election.Term{}); !errors.Is(err, errPlain) {
		t.Errorf("Run returned %v", err)
	}
}

// TestReady checks that a ReadyFunc registered with a function is called.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := table()
		table.RegisterReady("asked", func(context.Context, election.Term) error { return errPlain }, func(context.Context) error { return errPlain })
		c, err := decode(t, table, "{kind: asked}", runners.Env{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		said := func(problem error) {
			if !errors.Is(problem, errPlain) {
				t.Errorf("it said %v", problem)
			}
			cancel()
		}
		if err := c.Runner.(election.Readiness).Readiness(ctx, said); err != nil || ctx.Err() == nil {
			t.Errorf("Readiness returned %v, said something: %v", err, ctx.Err() != nil)
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	for block, want := range map[string]string{
		"{}":                                   "1:17: func.kind: is missing (the functions are: demo.heartbeat, plain)",
		"{kind: other}":                        `1:24: func.kind: there is no function "other" (the functions are: demo.heartbeat, plain)`,
		"{kind: [plain]}":                      "func.kind: want",
		"{kind: plain, speed: 5}":              "1:31: func.speed: unknown field",
		"{kind: demo.heartbeat, interval: 5}":  `func.interval: "5" has no unit`,
		"{kind: demo.heartbeat, interval: 0s}": "1:50: func.interval: 0s must be more than 0",
		"{kind: plain, kind: plain}":           "func.kind: is given twice",
	} {
		_, err := decode(t, table(), block, runners.Env{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", block, err, want)
		}
	}
}

func TestHeartbeat(t *testing.T) {
	for block, want := range map[string]int{"{kind: demo.heartbeat}": 3, "{kind: demo.heartbeat, interval: 1s}": 11} {
		synctest.Test(t, func(t *testing.T) {
			core, logs := observer.New(zap.InfoLevel)
			c, err := decode(t, table(), block, runners.Env{Log: zap.New(core)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
			defer cancel()
			if err := c.Runner.Run(ctx, election.Term{Election: "e"}); err != nil {
				t.Error(err)
			}
			beats := logs.FilterMessage("heartbeat").All()
			if len(beats) != want || beats[0].ContextMap()["runner"] != "w" {
				t.Errorf("%s: logged %d beats, want %d: %v", block, len(beats), want, beats)
			}
		})
	}
}

func TestRegisterPanics(t *testing.T) {
	fn := func(context.Context, election.Term) error { return nil }
	for name, register := range map[string]func(*funcs.Table){
		"twice":       func(t *funcs.Table) { t.Register("plain", fn) },
		"nil":         func(t *funcs.Table) { t.Register("nil", nil) },
		"no name":     func(t *funcs.Table) { t.Register("", fn) },
		"no question": func(t *funcs.Table) { t.RegisterReady("nil", fn, nil) },
		"no factory":  func(t *funcs.Table) { t.RegisterFactory("nil", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it did not panic")
				}
			}()
			register(table())
		})
	}
}
