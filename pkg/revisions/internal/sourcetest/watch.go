// Package sourcetest watches a source of preferences in a test.
package sourcetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Longest is how long a test waits for a delivery or a line of the log.
const Longest = 30 * time.Second

// Watch is one watched source.
type Watch struct {
	*testing.T
	// Got are the delivered preferences.
	Got chan election.Preference
	// Lines are the logged lines of level info and above: the message, then key=value of each field that is a text or an error.
	Lines chan string
	stop  func()
}

// New makes a watch that has yet to begin.
func New(t *testing.T) *Watch {
	return &Watch{T: t, Got: make(chan election.Preference, 16), Lines: make(chan string, 64), stop: func() {}}
}

// Log is the log for the source.
func (w *Watch) Log() *zap.Logger { return zap.New(tee{w.Lines}) }

// Begin watches the source until Stop or the end of the test, and fails the test if the source then returns an error.
func (w *Watch) Begin(source election.Preferences) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error, 1)
	go func() { done <- source.Watch(ctx, func(p election.Preference) { w.Got <- p }) }() // joined by stop
	w.stop = func() {
		if cancel(); done == nil {
			return
		}
		if err := <-done; err != nil {
			w.Errorf("Watch returned %v", err)
		}
		done = nil
	}
	w.Cleanup(w.Stop)
}

// Stop ends the watch; again it does nothing.
func (w *Watch) Stop() { w.stop() }

// Next waits for the next delivery, and returns it.
func (w *Watch) Next() election.Preference {
	w.Helper()
	select {
	case p := <-w.Got:
		return p
	case <-clock.NewTimer(Longest).C:
		w.Fatal("nothing was delivered")
	}
	panic("unreachable")
}

// Delivers waits for the next delivery, which must be this one.
func (w *Watch) Delivers(want string) {
	w.Helper()
	if got := w.Next().Digest(); got != want {
		w.Fatalf("delivered %s, want %s", got, want)
	}
}

// Says waits for the next line of the log, which must contain all parts.
func (w *Watch) Says(parts ...string) {
	w.Helper()
	select {
	case line := <-w.Lines:
		for _, p := range parts {
			if !strings.Contains(line, p) {
				w.Errorf("logged %q, want %q", line, p)
			}
		}
	case <-clock.NewTimer(Longest).C:
		w.Fatalf("nothing was logged, want %q", parts)
	}
}

// Quiet fails the test if the source has delivered or logged anything more.
func (w *Watch) Quiet() {
	w.Helper()
	select {
	case line := <-w.Lines:
		w.Errorf("logged %q", line)
	case p := <-w.Got:
		w.Errorf("delivered %s", p.Digest())
	default:
	}
}

// tee sends lines of a log where a test can wait for them.
type tee struct{ lines chan<- string }

func (t tee) Enabled(l zapcore.Level) bool      { return l >= zapcore.InfoLevel }
func (t tee) With([]zapcore.Field) zapcore.Core { return t }
func (t tee) Sync() error                       { return nil }

func (t tee) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if t.Enabled(e.Level) {
		return ce.AddCore(e, t)
	}
	return ce
}

func (t tee) Write(e zapcore.Entry, fields []zapcore.Field) error {
	text := e.Message
	for _, f := range fields {
		if err, failed := f.Interface.(error); failed {
			text += " error=" + err.Error()
			continue
		}
		text += " " + f.Key + "=" + f.String
	}
	t.lines <- text
	return nil
}
