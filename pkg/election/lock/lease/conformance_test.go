package lease

import (
	"context"
	"maps"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// The suite runs over the wire, against a real API server.
func TestConformance(t *testing.T) {
	locktest.Run(t, func(t *testing.T) locktest.Realm { return keyless{newRealm(t)} })
}

func TestConformanceShared(t *testing.T) {
	locktest.Run(t, func(t *testing.T) locktest.Realm { return shared{newRealm(t)} })
}

// keyless is a realm whose stores leave holders' keys alone.
type keyless struct{ *realm }

// KeyAnnotation implements locktest.Keyless.
func (keyless) KeyAnnotation() string { return "leader.istio.io/holder-key" }

// shared is a realm whose stores are shared with Istio.
type shared struct{ *realm }

func (r shared) Store() lock.Store { return Shared(r.client, r.namespace, HolderKeys()) }

func (r shared) Raw(name string) (codec.Object, error) {
	o, err := r.realm.Raw(name)
	if key, found := o.Annotations["leader.istio.io/holder-key"]; found {
		delete(o.Annotations, "leader.istio.io/holder-key")
		o.Fields.HolderKey = key
	}
	return o, err
}

func (r shared) Edit(name string, edit func(*codec.Object)) (record.Version, error) {
	return r.realm.Edit(name, func(o *codec.Object) {
		o.Fields.HolderKey = o.Annotations["leader.istio.io/holder-key"]
		delete(o.Annotations, "leader.istio.io/holder-key")
		edit(o)
		if o.Fields.HolderKey != "" {
			o.Annotations["leader.istio.io/holder-key"] = o.Fields.HolderKey
		}
	})
}

// realm is a namespace of its own, behind a gate.
type realm struct {
	t         *testing.T
	cluster   *devcluster.Cluster
	gate      *devcluster.Gate
	client    *APIClient
	admin     *APIClient // past the gate
	namespace string
}

func newRealm(t *testing.T) *realm {
	t.Helper()
	cluster := devcluster.Start(t)
	g := devcluster.NewGate()
	config := rest.CopyConfig(cluster.Config)
	config.Wrap(g.Wrap)
	return &realm{t: t, cluster: cluster, gate: g, client: newClient(t, config), admin: newClient(t, cluster.Config), namespace: cluster.Namespace(t)}
}

func newClient(t *testing.T, config *rest.Config) *APIClient {
	t.Helper()
	c, err := NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func (r *realm) Store() lock.Store { return In(r.client, r.namespace) }

func (r *realm) Cut() (mend func()) { return r.gate.Cut() }

// Forget restarts the server, whose watch cache then begins at the present.
func (r *realm) Forget() error {
	r.cluster.Restart(r.t)
	return nil
}

func (r *realm) get(name string) (*coordinationv1.Lease, error) {
	var l coordinationv1.Lease
	err := r.admin.RESTClient().Get().Namespace(r.namespace).Resource("leases").Name(name).Do(context.Background()).Into(&l)
	return &l, err
}

func (r *realm) Raw(name string) (codec.Object, error) {
	l, err := r.get(name)
	return object(l), err
}

func (r *realm) Delete(name string) error {
	return r.admin.RESTClient().Delete().Namespace(r.namespace).Resource("leases").Name(name).Do(context.Background()).Error()
}

func (r *realm) Edit(name string, edit func(*codec.Object)) (record.Version, error) {
	var at record.Version
	var o codec.Object
	old, err := r.get(name)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return at, err
	default:
		if at, err = apiserver.Version(old); err != nil {
			return at, err
		}
		o = object(old)
	}
	o.Annotations, o.Labels = maps.Clone(o.Annotations), maps.Clone(o.Labels)
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	if o.Labels == nil {
		o.Labels = map[string]string{}
	}
	edit(&o)
	l, err := lease(r.namespace, name, at, o)
	if err != nil {
		return at, err
	}
	req := r.admin.RESTClient().Put().Name(name)
	if at.UID == "" {
		req = r.admin.RESTClient().Post()
	}
	var written coordinationv1.Lease
	if err := req.Namespace(r.namespace).Resource("leases").Body(l).Do(context.Background()).Into(&written); err != nil {
		return at, err
	}
	return apiserver.Version(&written)
}
