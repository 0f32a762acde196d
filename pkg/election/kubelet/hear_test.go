package kubelet

import (
	"context"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// heard are the messages of a listener's log.
type heard <-chan string

// hear runs a listener until the test ends.
func hear(t *testing.T, with func(*zap.Logger) interface{ Run(context.Context) }) heard {
	core, _ := observer.New(zap.InfoLevel)
	lines := make(chan string, 64)
	l := with(zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		lines <- e.Message
		return nil
	})))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		l.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return lines
}

// want waits for the next message, which must be this one.
func (h heard) want(t *testing.T, message string) {
	t.Helper()
	select {
	case got := <-h:
		if got != message {
			t.Fatalf("logged %q, want %q", got, message)
		}
	case <-clock.NewTimer(longest).C:
		t.Fatalf("nothing was logged, want %q", message)
	}
}
