package kubelet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/internal/clocktest"
)

// lost are Pods and nodes behind a proxy that has lost its API server: it takes each request, and answers a list only.
type lost struct {
	coreclient.PodInterface
	lists int
	watch func(context.Context) (watch.Interface, error)
}

func (l *lost) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	l.lists++
	return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}

func (l *lost) Watch(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	return l.watch(ctx)
}

type lostNodes struct {
	coreclient.NodeInterface
	*lost
}

func (l lostNodes) List(context.Context, metav1.ListOptions) (*corev1.NodeList, error) {
	l.lists++
	return &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}

func (l lostNodes) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return l.lost.Watch(ctx, o)
}

// TestSilentWatch checks that the listeners list again although nobody answers their watch, or although a watch goes on long
// after the server should have ended it.
func TestSilentWatch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		watch func(context.Context) (watch.Interface, error)
	}{
		{"no answer", func(ctx context.Context) (watch.Interface, error) { <-ctx.Done(); return nil, ctx.Err() }},
		{"no end", func(context.Context) (watch.Interface, error) { return watch.NewFake(), nil }},
	} {
		for _, of := range []struct {
			name string
			run  func(*lost) interface{ Run(context.Context) }
		}{
			{"pods", func(l *lost) interface{ Run(context.Context) } {
				return &Listener{Pods: l, Clock: clocktest.Bubble{}, Log: zap.NewNop()}
			}},
			{"nodes", func(l *lost) interface{ Run(context.Context) } {
				return &NodeListener{Nodes: lostNodes{lost: l}, Clock: clocktest.Bubble{}, Log: zap.NewNop()}
			}},
		} {
			t.Run(tt.name+"/"+of.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := &lost{watch: tt.watch}
					ctx, cancel := context.WithCancel(t.Context())
					done := make(chan struct{})
					go func() { defer close(done); of.run(l).Run(ctx) }() // joined below
					time.Sleep(20 * time.Minute)
					cancel()
					<-done
					if l.lists < 2 {
						t.Errorf("listed %d times within 20 minutes", l.lists)
					}
				})
			})
		}
	}
}
