package listwatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/primacy-dev/primacy/internal/listwatch"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestSlowList checks that a list of a big cluster is heard although it takes long, and that a list without an answer ends.
func TestSlowList(t *testing.T) {
	for _, tt := range []struct {
		takes  time.Duration
		listed bool
	}{{29 * time.Second, true}, {time.Hour, false}} {
		t.Run(tt.takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := listwatch.Source{
					List: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
						if !clock.Wait(ctx, tt.takes) {
							return nil, ctx.Err()
						}
						return &corev1.PodList{}, nil
					},
					Watch: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
						ended := watch.NewFake()
						ended.Stop()
						return ended, nil
					},
				}
				began, listed := time.Now(), false
				err := source.Once(t.Context(), listwatch.Listener{
					Listed:   func(runtime.Object) error { listed = true; return nil },
					Watching: func() {},
				})
				if listed != tt.listed || listed == errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %v: listed %v, error %v", time.Since(began), listed, err)
				}
				if took := time.Since(began); took > 31*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
