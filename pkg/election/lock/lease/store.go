package lease

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

const pageSize = 1000

var kind = apiserver.Kind[*coordinationv1.Lease]{
	Name: "lease", Resource: "leases", PageSize: pageSize, Missing: "does the server have coordination.k8s.io/v1?",
	New:     func() *coordinationv1.Lease { return new(coordinationv1.Lease) },
	NewList: func() apiserver.List { return new(coordinationv1.LeaseList) },
}

// Store keeps records in the Leases of one namespace. See In.
type Store struct {
	objects apiserver.Objects[*coordinationv1.Lease]
	clock   clock.Clock
	host    string                 // with owner; see OwnedBy
	owner   *metav1.OwnerReference // nil for none
	keys    bool                   // see HolderKeys
	names   *Names                 // nil for none; see Named
	labels  map[string]string      // see Labels
}

var (
	_ lock.Remover = (*Store)(nil)
	_ lock.Teller  = (*Store)(nil)
)

// Option changes a Store. See In.
type Option func(*Store)

// Clock replaces the clock whose wall time a Put writes for zero times.
func Clock(c clock.Clock) Option { return func(s *Store) { s.clock = c } }

// In makes the store of the Leases in a namespace, which must exist. It watches all of
// them, so the namespace should hold no other Leases.
func In(client Client, namespace string, options ...Option) *Store {
	s := &Store{clock: clock.Boottime()}
	s.objects = apiserver.Objects[*coordinationv1.Lease]{Kind: kind, Client: client, Namespace: namespace, Read: s.read}
	for _, o := range options {
		o(s)
	}
	return s
}

// Namespace is where the Leases are.
func (s *Store) Namespace() string { return s.objects.Namespace }

// Objects implements lock.Teller.
func (s *Store) Objects() string { return "Leases in " + s.objects.Namespace }

// Get implements lock.Store.
func (s *Store) Get(ctx context.Context, name string) (lock.Entry, error) {
	return s.objects.Get(ctx, name)
}

// Put implements lock.Store.
func (s *Store) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	l, err := s.encode(name, r, replaces)
	if err != nil {
		return record.Version{}, err
	}
	return s.objects.Put(ctx, l, replaces)
}

// Remove implements lock.Remover.
func (s *Store) Remove(ctx context.Context, name string, is record.Version) error {
	return s.objects.Remove(ctx, name, is)
}

func (s *Store) encode(name string, r record.Record, replaces record.Version) (*coordinationv1.Lease, error) {
	if err := apiserver.CheckWrite(name, replaces); err != nil {
		return nil, err
	}
	o, err := codec.Encode(r, s.clock.Wall())
	if err != nil {
		return nil, err
	}
	l, err := lease(s.objects.Namespace, name, replaces, o)
	if err != nil {
		return nil, err
	}
	l.OwnerReferences = s.owners(&r, l.OwnerReferences)
	s.writeKey(l, o.Fields)
	s.writeNames(l)
	return l, nil
}

func (s *Store) read(l *coordinationv1.Lease) codec.Object {
	if s.names != nil {
		s.names.read(l)
	}
	o := object(l)
	s.readKey(&o)
	return o
}

// Watch implements lock.Store.
func (s *Store) Watch(ctx context.Context, deliver func(lock.Event)) error {
	return s.objects.Watch(ctx, deliver)
}
