package steering_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/internal/sourcetest"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

const (
	group = "edge"
)

var object = rollout.ObjectName(group)

// realm is a namespace, and the administrator's client for its ConfigMaps.
type realm struct {
	namespace string
	config    *rest.Config
	maps      coreclient.ConfigMapInterface
}

func newRealm(t *testing.T) realm {
	t.Helper()
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	return realm{namespace, cluster.Config, coreOf(t, cluster.Config).ConfigMaps(namespace)}
}

func coreOf(t *testing.T, c *rest.Config) *coreclient.CoreV1Client {
	t.Helper()
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	core, err := coreclient.NewForConfigAndClient(c, client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(client.Transport) })
	return core
}

func (r realm) edit(t *testing.T, change func(*rollout.Plan) error) {
	t.Helper()
	if err := steering.Edit(t.Context(), r.maps, group, change); err != nil {
		t.Fatal(err)
	}
}

// write stores texts under keys of the ConfigMap, as a person with an editor would; an empty text
// removes the key.
func (r realm) write(t *testing.T, data map[string]string) {
	t.Helper()
	cm, err := r.maps.Get(t.Context(), object, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	for key, text := range data {
		if cm.Data[key] = text; text == "" {
			delete(cm.Data, key)
		}
	}
	if _, err := r.maps.Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func pin(election, revision string) func(*rollout.Plan) error {
	return func(p *rollout.Plan) (err error) {
		*p, err = p.PinTo(rollout.Pin{Election: election, Revision: revision})
		return err
	}
}

// bench is one watched source.
type bench struct {
	*sourcetest.Watch
	realm
	source *steering.Source
	// byDefault carries what the default source says.
	byDefault chan election.Preference
	giveUp    chan error
}

func newBench(t *testing.T, r realm) *bench {
	t.Helper()
	b := &bench{Watch: sourcetest.New(t), realm: r, byDefault: make(chan election.Preference, 4), giveUp: make(chan error)}
	b.source = steering.New(coreOf(t, r.config), r.namespace, group, b.defaults(), clock.Boottime(), b.Log())
	b.Begin(b.source)
	return b
}

type sourceFunc func(context.Context, func(election.Preference)) error

func (f sourceFunc) Watch(ctx context.Context, deliver func(election.Preference)) error {
	return f(ctx, deliver)
}

func (b *bench) defaults() election.Preferences {
	return sourceFunc(func(ctx context.Context, deliver func(election.Preference)) error {
		for {
			select {
			case p := <-b.byDefault:
				deliver(p)
			case err := <-b.giveUp:
				return err
			case <-ctx.Done():
				return nil
			}
		}
	})
}

// next waits for the next delivered preference, and checks what some elections prefer by it.
func (b *bench) next(want map[string]record.Preferred) election.Preference {
	b.Helper()
	p := b.Next()
	for name, preferred := range want {
		if got := p.For(name); got != preferred {
			b.Fatalf("%s prefers %s, want %s", name, got, preferred)
		}
	}
	return p
}

// until waits until the condition so holds for what the source knows.
func (b *bench) until(what string, so func(steering.Sight) bool) {
	b.Helper()
	timeout := clock.NewTimer(sourcetest.Longest).C
	for {
		sight, changed := b.source.Sight()
		if so(sight) {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			b.Fatalf("never: %s", what)
		}
	}
}
