package steering_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// silent is a namespace without ConfigMaps whose server says nothing until speaks is closed.
type silent struct {
	coreclient.ConfigMapInterface
	speaks chan struct{}
}

func (s silent) ConfigMaps(string) coreclient.ConfigMapInterface { return s }

func (s silent) List(ctx context.Context, _ metav1.ListOptions) (*corev1.ConfigMapList, error) {
	select {
	case <-s.speaks:
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s silent) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

// always is a default source that always says the same.
type always struct{ election.Preference }

func (a always) Watch(ctx context.Context, deliver func(election.Preference)) error {
	deliver(a.Preference)
	<-ctx.Done()
	return nil
}

// TestNothingBeforeThePlan checks that, before the source knows whether there is a rollout, the
// default moves nothing.
func TestNothingBeforeThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := silent{speaks: make(chan struct{})}
		source := steering.New(server, "default", group, always{blue}, clock.Boottime(), nil)
		ctx, cancel := context.WithCancel(t.Context())
		var said []election.Preference
		ended := make(chan error)
		go func() {
			ended <- source.Watch(ctx, func(p election.Preference) { said = append(said, p) })
		}()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if len(said) != 0 {
			t.Errorf("%s is preferred before the plan is known", said[0].Digest())
		}
		close(server.speaks)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(said) != 1 || said[0].Digest() != blue.Digest() {
			t.Errorf("%d times something is preferred, want once %s", len(said), blue.Digest())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
