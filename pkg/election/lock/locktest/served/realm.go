// Package served implements realms of the conformance suite (package locktest) on a real API server.
package served

import (
	"context"
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Object is a pointer to an API object, such as *coordinationv1.Lease.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind says how to read and write locks as one kind of object.
type Kind[O Object] struct {
	// Resource is its name in paths of the API, such as "leases".
	Resource string
	// NewClient makes a client for this kind.
	NewClient func(*rest.Config) (*apiserver.APIClient, error)
	// New makes an empty object; Read and Write convert an object to a codec.Object, and back.
	New   func() O
	Read  func(O) codec.Object
	Write func(namespace, name string, at record.Version, o codec.Object) (O, error)
}

// Realm is a namespace of its own on the API server of the tests. Its Client stands behind a gate that
// Cut closes, and Admin does not. It implements all of locktest.Realm except Store.
type Realm[O Object] struct {
	T         *testing.T
	Client    *apiserver.APIClient
	Admin     *apiserver.APIClient
	Namespace string

	kind    Kind[O]
	cluster *devcluster.Cluster
	gate    *devcluster.Gate
}

// New makes a realm. It ends with the test.
func New[O Object](t *testing.T, kind Kind[O]) *Realm[O] {
	t.Helper()
	cluster, gate := devcluster.Start(t), devcluster.NewGate()
	gated := rest.CopyConfig(cluster.Config)
	gated.Wrap(gate.Wrap)
	return &Realm[O]{
		T: t, Client: NewClient(t, kind, gated), Admin: NewClient(t, kind, cluster.Config), Namespace: cluster.Namespace(t),
		kind: kind, cluster: cluster, gate: gate,
	}
}

// NewClient makes a client of the kind; it ends with the test.
func NewClient[O Object](t *testing.T, kind Kind[O], config *rest.Config) *apiserver.APIClient {
	t.Helper()
	c, err := kind.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// Cut closes the gate before Client.
func (r *Realm[O]) Cut() (mend func()) { return r.gate.Cut() }

// Forget restarts the server, whose watch cache then begins at the present.
func (r *Realm[O]) Forget() error {
	r.cluster.Restart(r.T)
	return nil
}

// Get reads the object.
func (r *Realm[O]) Get(name string) (O, error) {
	o := r.kind.New()
	err := r.Admin.RESTClient().Get().Namespace(r.Namespace).Resource(r.kind.Resource).Name(name).Do(context.Background()).Into(o)
	return o, err
}

// Raw is what is stored under the name.
func (r *Realm[O]) Raw(name string) (codec.Object, error) {
	o, err := r.Get(name)
	return r.kind.Read(o), err
}

// Delete deletes the object, as a stranger may.
func (r *Realm[O]) Delete(name string) error {
	return r.Admin.RESTClient().Delete().Namespace(r.Namespace).Resource(r.kind.Resource).Name(name).Do(context.Background()).Error()
}

// Edit changes the object, as a stranger may, or makes one.
func (r *Realm[O]) Edit(name string, edit func(*codec.Object)) (record.Version, error) {
	var at record.Version
	var o codec.Object
	old, err := r.Get(name)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return at, err
	default:
		if at, err = apiserver.Version(old); err != nil {
			return at, err
		}
		o = r.kind.Read(old)
	}
	o.Annotations, o.Labels = maps.Clone(o.Annotations), maps.Clone(o.Labels)
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	if o.Labels == nil {
		o.Labels = map[string]string{}
	}
	edit(&o)
	edited, err := r.kind.Write(r.Namespace, name, at, o)
	if err != nil {
		return at, err
	}
	req := r.Admin.RESTClient().Put().Name(name)
	if at.UID == "" {
		req = r.Admin.RESTClient().Post()
	}
	written := r.kind.New()
	if err := req.Namespace(r.Namespace).Resource(r.kind.Resource).Body(edited).Do(context.Background()).Into(written); err != nil {
		return at, err
	}
	return apiserver.Version(written)
}
