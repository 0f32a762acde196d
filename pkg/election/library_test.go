package election_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// alone is a configuration of a member in a realm of its own.
func alone() election.Config {
	c := clocktest.Bubble{}
	return election.Config{
		Group: "edge", Host: "m1", Member: election.Member{Revision: "stable"}, Locks: memory.New(c).Store(), Clock: c, Log: zap.NewNop(),
	}
}

type valueKey struct{}

// TestRunnersOfOneContext checks that the contexts of a runner carry the values of Run's, and that `return ctx.Err()`
// after a stop is no trouble, while any other error is.
func TestRunnersOfOneContext(t *testing.T) {
	for _, tt := range []struct {
		name     string
		disabled bool
		err      func(context.Context) error
		trouble  bool
	}{
		{"led", false, context.Context.Err, false},
		{"its cause", false, context.Cause, false},
		{"wrapped", false, func(ctx context.Context) error { return fmt.Errorf("loop: %w", ctx.Err()) }, false},
		{"disabled", true, context.Context.Err, false},
		{"another error", false, func(context.Context) error { return errors.New("disk full") }, true},
		{"another error, disabled", true, func(context.Context) error { return errors.New("disk full") }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				seen, logs := observer.New(zapcore.WarnLevel)
				cfg := alone()
				cfg.Log = zap.New(seen)
				m, err := election.NewManager(cfg)
				if err != nil {
					t.Fatal(err)
				}
				var value any
				_, err = m.Add(election.Spec{Name: "a", Disabled: tt.disabled, Bootstrap: election.BootstrapImmediate}, election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
					value = ctx.Value(valueKey{})
					<-ctx.Done()
					return tt.err(ctx)
				}))
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "carried"))
				defer stop()
				ran := make(chan error)
				go func() { ran <- m.Run(ctx) }()
				after(30 * time.Second)
				if m.Err() != nil {
					t.Errorf("Err is %v while Run goes on", m.Err())
				}
				stop()
				if err := <-ran; err != nil || m.Err() != nil {
					t.Errorf("Run returned %v, Err is %v", err, m.Err())
				}
				if value != "carried" {
					t.Errorf("the runner's context has the value %v", value)
				}
				if got := logs.Len() > 0; got != tt.trouble {
					t.Errorf("warnings: %v", logs.All())
				}
			})
		})
	}
}

// TestErrOfRun checks that Err returns what Run has returned.
func TestErrOfRun(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		cfg := alone()
		broken := make(chan struct{})
		close(broken)
		cfg.Parent = deadParent{broken}
		m, err := election.NewManager(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Run(t.Context()); !errors.Is(err, election.ErrOrphaned) || !errors.Is(m.Err(), election.ErrOrphaned) {
			t.Errorf("Run returned %v, Err is %v", err, m.Err())
		}
	})
}

type deadParent struct{ broken chan struct{} }

func (deadParent) Expect(string, string) error { return nil }
func (deadParent) Over(string) error           { return nil }
func (p deadParent) Broken() <-chan struct{}   { return p.broken }

func TestSentinels(t *testing.T) {
	if _, err := election.NewManager(election.Config{Group: "A"}); !errors.Is(err, election.ErrInvalid) {
		t.Errorf("a group that is no name: %v", err)
	}
	cfg := alone()
	m, err := election.NewManager(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		spec election.Spec
		want error
	}{
		{election.Spec{Name: "a"}, nil},
		{election.Spec{Name: "a"}, election.ErrTaken},
		{election.Spec{Name: "b", Lock: "a"}, election.ErrTaken},
		{election.Spec{Name: "B"}, election.ErrInvalid},
		{election.Spec{Name: "c", Timing: election.Timing{LeaseDuration: 1500 * time.Millisecond}}, election.ErrInvalid},
	} {
		if _, err := m.Add(tt.spec, nil); !errors.Is(err, tt.want) {
			t.Errorf("Add(%s, %s): %v, want %v", tt.spec.Name, tt.spec.Lock, err, tt.want)
		}
	}
	if err := m.Remove(t.Context(), "x"); !errors.Is(err, election.ErrUnknown) {
		t.Errorf("Remove: %v", err)
	}
}

// TestStopsWithTwoFieldsOfTiming stops members whose timing names two fields. Their work takes most of the default grace.
func TestStopsWithTwoFieldsOfTiming(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for range 5 {
			cfg := alone()
			cfg.Timing = election.Timing{LeaseDuration: 4 * time.Second, RenewInterval: time.Second}
			cfg.Abort = func(err error) { t.Error(err) }
			m, err := election.NewManager(cfg)
			if err != nil {
				t.Fatal(err)
			}
			worked := false
			_, err = m.Add(election.Spec{Name: "a"}, election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
				worked = true
				<-ctx.Done()
				clock.Wait(context.Background(), 900*time.Millisecond)
				return nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ran := make(chan error)
			go func() { ran <- m.Run(ctx) }()
			after(20 * time.Second)
			stop()
			if err := <-ran; err != nil || !worked {
				t.Errorf("worked: %v, Run returned %v", worked, err)
			}
		}
	})
}

func TestTimingsByName(t *testing.T) {
	for name, got := range map[string]election.Timing{
		"default": election.Default(), "fast": election.Fast(), "relaxed": election.Relaxed(), "single-node": election.SingleNode(),
	} {
		if want, err := record.Profile(name); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestOtherLoggers checks what a logr.Logger and a *slog.Logger get of each level.
func TestOtherLoggers(t *testing.T) {
	write := func(l *zap.Logger) {
		l = l.With(zap.String("identity", "m1_00000001"))
		l.Debug("d", zap.Int("n", 1))
		l.Info("i", zap.Duration("wait", time.Second))
		l.Warn("w", zap.Error(errors.New("no answer")))
		l.Error("e", zap.Error(errors.New("lost")), zap.Strings("all", []string{"x"}))
	}
	var lines []string
	write(election.Logr(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 1})))
	want := []string{
		`"level"=1 "msg"="d" "identity"="m1_00000001" "n"=1`,
		`"level"=0 "msg"="i" "identity"="m1_00000001" "wait"="1s"`,
		`"level"=0 "msg"="w" "identity"="m1_00000001" "level"="warning" "error"="no answer"`,
		`"msg"="e" "error"="lost" "identity"="m1_00000001" "all"=["x"]`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("logr got\n%s", got)
	}
	lines = nil
	write(election.Logr(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})))
	if len(lines) != 3 {
		t.Errorf("without verbosity logr got %q", lines)
	}
	election.Logr(logr.Discard()).Info("nothing")

	var out bytes.Buffer
	write(election.Slog(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))))
	if got, want := out.String(), `level=INFO msg=i identity=m1_00000001 wait=1s
level=WARN msg=w identity=m1_00000001 error="no answer"
level=ERROR msg=e identity=m1_00000001 all=[x] error=lost
`; got != want {
		t.Errorf("slog got\n%s", got)
	}
}

// TestTroubleIsNotSilent checks that a Config without a Log writes to slog's default logger.
func TestTroubleIsNotSilent(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(before)
	inBubble(t, func(t *testing.T) {
		cfg := alone()
		cfg.Log = nil
		m, err := election.NewManager(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Add(election.Spec{Name: "a", Bootstrap: election.BootstrapImmediate}, election.RunnerFunc(func(context.Context, election.Term) error { return errors.New("disk full") }))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	if got := out.String(); !strings.Contains(got, "disk full") || !strings.Contains(got, "election=a") {
		t.Errorf("the log says\n%s", got)
	}
}
