package object_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/primacy-dev/primacy/pkg/revisions/object"
)

// heard is a listener that notes what it hears.
type heard struct{ shown, unreadable, readable atomic.Int64 }

func (h *heard) Shown(runtime.Object) error { h.shown.Add(1); return nil }

func (h *heard) Unreadable(string, error) { h.unreadable.Add(1) }

func (h *heard) Readable() { h.readable.Add(1) }

// following follows an object whose watch is opened by open, in a bubble, while test runs.
func following(t *testing.T, open func(context.Context) (watch.Interface, error), test func(*heard)) {
	synctest.Test(t, func(t *testing.T) {
		o := object.Object{
			Name: "a", Place: "configmap a in namespace b",
			List: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
			},
			Watch: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) { return open(ctx) },
		}
		ctx, cancel := context.WithCancel(t.Context())
		h, done := &heard{}, make(chan struct{})
		go func() { defer close(done); o.Follow(ctx, h) }() // joined below
		test(h)
		cancel()
		<-done
	})
}

// TestWatchThatNobodyAnswers checks that the source lists again although the server never answers its watch, and that the
// listener hears of the trouble.
func TestWatchThatNobodyAnswers(t *testing.T) {
	following(t, func(ctx context.Context) (watch.Interface, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, func(h *heard) {
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if h.shown.Load() < 2 || h.unreadable.Load() == 0 || h.readable.Load() != 0 {
			t.Errorf("within five minutes: listed %d times, %d times unreadable, %d times readable", h.shown.Load(), h.unreadable.Load(), h.readable.Load())
		}
	})
}

// TestWatchThatNeverEnds checks that the source gives up a stream that the server should have ended long ago: a proxy may
// have swallowed what came since.
func TestWatchThatNeverEnds(t *testing.T) {
	following(t, func(context.Context) (watch.Interface, error) { return watch.NewFake(), nil }, func(h *heard) {
		time.Sleep(time.Minute)
		synctest.Wait()
		if h.shown.Load() != 1 || h.readable.Load() != 1 {
			t.Errorf("within a minute: listed %d times, %d times readable", h.shown.Load(), h.readable.Load())
		}
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		if h.shown.Load() < 2 || h.unreadable.Load() != 0 {
			t.Errorf("within a quarter of an hour: listed %d times, %d times unreadable", h.shown.Load(), h.unreadable.Load())
		}
	})
}
