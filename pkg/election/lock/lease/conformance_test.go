package lease

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/served"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestConformance runs the suite over the wire, against a real API server.
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

func (r shared) Store() lock.Store { return Shared(r.Client, r.Namespace, HolderKeys()) }

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

// leases is how the suite reads and writes Leases.
var leases = served.Kind[*coordinationv1.Lease]{
	Resource: "leases", NewClient: NewClient, New: func() *coordinationv1.Lease { return new(coordinationv1.Lease) }, Read: object, Write: lease,
}

// realm is a namespace of its own, behind a gate.
type realm struct {
	*served.Realm[*coordinationv1.Lease]
}

func newRealm(t *testing.T) *realm {
	t.Helper()
	return &realm{served.New(t, leases)}
}

func newClient(t *testing.T, config *rest.Config) *APIClient {
	t.Helper()
	return served.NewClient(t, leases, config)
}

func (r *realm) Store() lock.Store { return In(r.Client, r.Namespace) }
