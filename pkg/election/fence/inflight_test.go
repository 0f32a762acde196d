package fence_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// slow is a body that ends with the request's context.
type slow struct{ ctx context.Context }

func (s slow) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }
func (slow) Close() error               { return nil }

// hangAndTell hangs, then fails as HTTP/1 does, with the cause.
func hangAndTell(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

func answerSlowly(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: slow{req.Context()}, Request: req}, nil
}

// upgraded is a connection that ignores contexts.
type upgraded struct {
	closed chan struct{}
	once   *sync.Once
}

func (u upgraded) Read([]byte) (int, error)    { <-u.closed; return 0, errClosed }
func (u upgraded) Write(p []byte) (int, error) { return len(p), nil }
func (u upgraded) Close() error                { u.once.Do(func() { close(u.closed) }); return nil }

var errClosed = errors.New("connection closed")

func upgrade(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: upgraded{make(chan struct{}), &sync.Once{}}, Request: req}, nil
}

// TestCutWhenTheTermStops checks that a write under way goes on while the term is extended, and is cut
// when the term begins to stop; the error says so, and why.
func TestCutWhenTheTermStops(t *testing.T) {
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){"no answer": hang, "told why": hangAndTell, "body": answerSlowly, "upgraded": upgrade} {
		t.Run(name, func(t *testing.T) {
			leading(t, nil, func(t *testing.T, m1 *member, _ *memory.Realm) {
				g := gateOf(t, m1.status...)
				done, ungated, doing := make(chan error, 1), make(chan error, 1), make(chan error, 1)
				go func() { done <- write(t.Context(), g, &wire{answer: answer}) }()
				ctx, cancel := context.WithCancel(fence.Ungated(t.Context()))
				go func() { ungated <- write(ctx, g, &wire{answer: hang}) }()
				go func() {
					doing <- g.Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
				}()
				after(time.Minute)
				if len(done) != 0 || len(doing) != 0 {
					t.Fatalf("cut while the term was extended: %v", <-done)
				}
				m1.stop()
				after(time.Second)
				if len(done) != 1 || len(doing) != 1 {
					t.Fatal("not cut")
				}
				for what, err := range map[string]error{"write": <-done, "Do": <-doing} {
					var cut *fence.NotLeadingError
					var why *election.Stop
					if !errors.As(err, &cut) || cut.Progress != fence.Cut || cut.Election != "a" || !errors.As(err, &why) || why.Reason != "member is leaving" {
						t.Errorf("%s: %v", what, err)
					}
				}
				if len(ungated) != 0 {
					t.Error("an ungated request was cut")
				}
				cancel()
				<-ungated
			}, "a")
		})
	}
}

// TestCutAtTheDeadline checks that, at the deadline and not a moment earlier, the gate cuts what is under
// way and lets nothing pass any more, even though the driver is held up.
func TestCutAtTheDeadline(t *testing.T) {
	var hold atomic.Bool
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel)
	log := zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		if hold.Load() && e.Level == zap.WarnLevel {
			<-clock.NewTimer(20 * time.Second).C // virtual
		}
		return nil
	}))
	leading(t, log, func(t *testing.T, m1 *member, _ *memory.Realm) {
		g := gateOf(t, m1.status...)
		done := make(chan error, 1)
		go func() { done <- write(t.Context(), g, &wire{answer: hang}) }()
		after(20 * time.Second) // extended several times
		hold.Store(true)
		m1.store.CutWatches()
		after(10 * time.Millisecond)
		deadline := m1.status[0].ValidTerm().Deadline
		after(deadline.Sub(m1.clock.Now()) - time.Nanosecond)
		if len(done) != 0 || g.Check() != nil {
			t.Fatalf("cut %v before the deadline", deadline.Sub(m1.clock.Now()))
		}
		after(time.Nanosecond)
		if len(done) != 1 || g.Check() == nil {
			t.Fatal("under way after the deadline")
		}
		if err := <-done; !errors.Is(err, fence.ErrNotLeading) {
			t.Error(err)
		}
		hold.Store(false)
		after(2 * time.Minute)
		if err := write(t.Context(), g, &wire{}); err != nil {
			t.Errorf("in the next term: %v", err)
		}
	}, "a")
}

// TestOtherErrorsPassUnchanged checks that errors that have nothing to do with the term stay unchanged,
// and so does success.
func TestOtherErrorsPassUnchanged(t *testing.T) {
	leading(t, nil, func(t *testing.T, m1 *member, _ *memory.Realm) {
		g := gateOf(t, m1.status...)
		err := write(t.Context(), g, &wire{answer: func(*http.Request) (*http.Response, error) { return nil, errClosed }})
		if !errors.Is(err, errClosed) || errors.Is(err, fence.ErrNotLeading) {
			t.Error(err)
		}
		if err := g.Do(t.Context(), func(context.Context) error { return errClosed }); err != errClosed {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := &wire{}
		for name, err := range map[string]error{"Do": g.Do(ctx, nil), "write": write(ctx, g, w)} {
			if !errors.Is(err, context.Canceled) || errors.Is(err, fence.ErrNotLeading) || len(w.seen()) != 0 {
				t.Errorf("%s with a context that has ended: sent %v: %v", name, w.seen(), err)
			}
		}
		done := g.Do(t.Context(), func(context.Context) error {
			m1.stop()
			after(time.Second)
			return nil
		})
		if done != nil {
			t.Errorf("work that was done all the same: %v", done)
		}
	}, "a")
}
