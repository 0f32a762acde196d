package kubelet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// onePod are the Pods of a namespace that has deadPod. It never changes.
type onePod struct{ coreclient.PodInterface }

func (onePod) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{*deadPod()}}, nil
}

func (onePod) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

// slow is a store whose first reads fail: at once, or once the caller does not wait any longer.
type slow struct {
	lock.Store
	fails int
	reads int
	hangs bool
}

func (s *slow) Get(ctx context.Context, name string) (lock.Entry, error) {
	if s.reads++; s.reads > s.fails {
		return s.Store.Get(ctx, name)
	}
	if !s.hangs {
		return lock.Entry{}, errors.New("planted")
	}
	<-ctx.Done()
	return lock.Entry{}, ctx.Err()
}

// TestAWordOutlivesSlowReads checks that a word ends the session although its first reads fail, and that the listener gives up, and
// says so once, where all fail.
func TestAWordOutlivesSlowReads(t *testing.T) {
	for _, tt := range []struct {
		what string
		slow slow
		want string
	}{
		{"one hangs", slow{fails: 1, hangs: true}, lineOver},
		{"two hang", slow{fails: 2, hangs: true}, lineOver},
		{"two fail", slow{fails: 2}, lineOver},
		{"all hang", slow{fails: 1 << 20, hangs: true}, lineUnread},
		{"all fail", slow{fails: 1 << 20}, lineUnread},
	} {
		t.Run(tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				realm := memory.New(clocktest.Bubble{})
				(&node{T: t, pod: deadPod()}).session(realm, record.ProofKubelet)
				store := tt.slow
				store.Store = realm.Store()
				core, logged := observer.New(zap.InfoLevel)
				l := &Listener{Pods: onePod{}, Sessions: &store, Group: "edge", Name: "other-0", Clock: clocktest.Bubble{}, Log: zap.New(core)}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); l.Run(ctx) }() // joined below
				time.Sleep(20 * time.Minute)
				cancel()
				<-done
				if lines := logged.All(); len(lines) != 1 || lines[0].Message != tt.want {
					t.Errorf("logged %v, want %q", lines, tt.want)
				}
				if over := realm.Read("primacy-edge-edge-0-0").Record.Released(); over != (tt.want == lineOver) {
					t.Errorf("the session is over: %v", over)
				}
			})
		})
	}
}
