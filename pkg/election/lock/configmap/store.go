package configmap

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// kind has small pages, since others' ConfigMaps may be large.
var kind = apiserver.Kind[*corev1.ConfigMap]{
	Name: "configmap", Resource: "configmaps", PageSize: 100, Missing: "is this an API server?",
	New:     func() *corev1.ConfigMap { return new(corev1.ConfigMap) },
	NewList: func() apiserver.List { return new(corev1.ConfigMapList) },
}

// Store keeps records in ConfigMaps of one namespace. See In.
type Store struct {
	objects apiserver.Objects[*corev1.ConfigMap]
	clock   clock.Clock
	whole   bool // see WholeNamespace
}

var (
	_ lock.NameWatcher = (*Store)(nil)
	_ lock.Teller      = (*Store)(nil)
)

// Option changes a Store. See In.
type Option func(*Store)

// Clock replaces the clock whose wall time a Put writes for zero times.
func Clock(c clock.Clock) Option { return func(s *Store) { s.clock = c } }

// WholeNamespace makes WatchNames follow one stream of the whole namespace and drop all
// other objects. It costs one watch in place of one for each name, keeps the order across
// names, and needs a role that is not bound to names. It is for namespaces that hold locks
// and little else.
func WholeNamespace() Option { return func(s *Store) { s.whole = true } }

// OfGroup makes Watch show only ConfigMaps that members of a group took as locks, by their labels;
// with an empty group, those of all groups. Others' ConfigMaps may be many, and large. OfGroup is for
// readers, not for members: removing the labels of a lock hides it.
func OfGroup(group string) Option {
	selector := lock.ElectionLabel + "," + lock.GroupLabel
	if group != "" {
		selector += "=" + group
	}
	return func(s *Store) { s.objects.Selector = selector }
}

// In makes the store of the ConfigMaps in a namespace, which must exist and may hold other ConfigMaps.
func In(client Client, namespace string, options ...Option) *Store {
	s := &Store{clock: clock.Boottime()}
	s.objects = apiserver.Objects[*corev1.ConfigMap]{Kind: kind, Client: client, Namespace: namespace, Read: object}
	for _, o := range options {
		o(s)
	}
	return s
}

// Namespace is where the ConfigMaps are.
func (s *Store) Namespace() string { return s.objects.Namespace }

// Objects implements lock.Teller.
func (s *Store) Objects() string { return "ConfigMaps in " + s.objects.Namespace }

// Get implements lock.Store.
func (s *Store) Get(ctx context.Context, name string) (lock.Entry, error) {
	return s.objects.Get(ctx, name)
}

// Put implements lock.Store.
func (s *Store) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	m, err := s.encode(name, r, replaces)
	if err != nil {
		return record.Version{}, err
	}
	return s.objects.Put(ctx, m, replaces)
}

func (s *Store) encode(name string, r record.Record, replaces record.Version) (*corev1.ConfigMap, error) {
	if err := apiserver.CheckWrite(name, replaces); err != nil {
		return nil, err
	}
	o, err := codec.Encode(r, s.clock.Wall())
	if err != nil {
		return nil, err
	}
	if silent(&r) {
		o.Fields.Acquired, o.Fields.Renewed = time.Time{}, time.Time{}
	}
	return configMap(s.objects.Namespace, name, replaces, o)
}

// Watch implements lock.Store: all ConfigMaps of the namespace, locks or not, unless the store was
// made with OfGroup.
func (s *Store) Watch(ctx context.Context, deliver func(lock.Event)) error {
	return s.objects.Watch(ctx, deliver)
}

// WatchNames implements lock.NameWatcher, with a stream of its own for each name unless the
// store was made with WholeNamespace.
func (s *Store) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	if s.whole {
		return s.objects.WatchOnly(ctx, names, deliver)
	}
	return s.objects.WatchNames(ctx, names, deliver)
}
