package configmap

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock/follow"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Store keeps records in ConfigMaps of one namespace. See In.
type Store struct {
	client    Client
	namespace string
	clock     clock.Clock
	whole     bool // see WholeNamespace
	decoder   codec.Decoder
}

var _ lock.NameWatcher = (*Store)(nil)

// Option changes a Store. See In.
type Option func(*Store)

// Clock replaces the clock whose wall time is written where a record has no time.
func Clock(c clock.Clock) Option { return func(s *Store) { s.clock = c } }

// WholeNamespace makes WatchNames follow one stream of the whole namespace and leave out
// what was not asked for. It costs one watch in place of one for each name, keeps the
// order across names, and needs a role that is not bound to names. It is for namespaces
// that hold locks and little else.
func WholeNamespace() Option { return func(s *Store) { s.whole = true } }

// In is the store of the ConfigMaps in a namespace, which must exist and may hold others.
func In(client Client, namespace string, options ...Option) *Store {
	s := &Store{client: client, namespace: namespace, clock: clock.Boottime()}
	for _, o := range options {
		o(s)
	}
	return s
}

// Get implements lock.Store: a GET without resourceVersion, which is consistent.
func (s *Store) Get(ctx context.Context, name string) (lock.Entry, error) {
	if err := codec.CheckName(name); err != nil {
		return lock.Entry{}, fmt.Errorf("%w: %w", lock.ErrInvalid, err)
	}
	var m corev1.ConfigMap
	err := s.request(s.client.RESTClient().Get()).Name(name).Do(ctx).Into(&m)
	if isAbsent(err, name) {
		return lock.Entry{Name: name}, nil
	}
	if err != nil {
		return lock.Entry{}, s.readError(err)
	}
	e, err := s.entry(&m)
	if err != nil {
		return lock.Entry{}, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	return e, nil
}

// Put implements lock.Store: a POST to create, a PUT with uid and resourceVersion to
// update.
func (s *Store) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	m, err := s.encode(name, r, replaces)
	if err != nil {
		return record.Version{}, err
	}
	var req *rest.Request
	if replaces.UID == "" {
		req = s.request(s.client.RESTClient().Post())
	} else {
		req = s.request(s.client.RESTClient().Put()).Name(name)
	}
	var written corev1.ConfigMap
	if err := req.Body(m).Do(ctx).Into(&written); err != nil {
		return record.Version{}, s.writeError(err, replaces)
	}
	v, err := version(&written)
	if err == nil && replaces.UID != "" && v.UID != replaces.UID {
		err = fmt.Errorf("configmap %s was recreated by an update", name)
	}
	if err != nil {
		return record.Version{}, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	return v, nil
}

func (s *Store) encode(name string, r record.Record, replaces record.Version) (*corev1.ConfigMap, error) {
	if err := codec.CheckName(name); err != nil {
		return nil, fmt.Errorf("%w: %w", lock.ErrInvalid, err)
	}
	if replaces.UID != "" && replaces.Revision == 0 {
		return nil, fmt.Errorf("%w: an update needs the revision that it replaces", lock.ErrInvalid)
	}
	o, err := codec.Encode(r, s.clock.Wall())
	if err != nil {
		return nil, err
	}
	if silent(&r) {
		o.Fields.Acquired, o.Fields.Renewed = time.Time{}, time.Time{}
	}
	return configMap(s.namespace, name, replaces, o)
}

// Watch implements lock.Store: all ConfigMaps of the namespace, locks or not.
func (s *Store) Watch(ctx context.Context, deliver func(lock.Event)) error {
	follow.Run(ctx, s.source(), pace(), deliver)
	return nil
}

// WatchNames implements lock.NameWatcher. Each name has a stream of its own, so the order
// of the store is kept for each object but not across them; a list shows all names at
// one revision. Without names nothing is delivered.
func (s *Store) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	for _, name := range names {
		if err := codec.CheckName(name); err != nil {
			return fmt.Errorf("%w: %w", lock.ErrInvalid, err)
		}
	}
	switch {
	case len(names) == 0:
		<-ctx.Done()
	case s.whole:
		follow.Run(ctx, s.source(), pace(), follow.Only(names, deliver))
	default:
		follow.Run(ctx, follow.Names(s.source(), names), pace(), deliver)
	}
	return nil
}

func pace() follow.Pace {
	p := follow.DefaultPace()
	p.Jitter = rand.Float64
	p.RetryAfter = retryAfter
	return p
}

// request makes client-go send the request once and no more.
func (s *Store) request(r *rest.Request) *rest.Request {
	return r.Namespace(s.namespace).Resource("configmaps").MaxRetries(0)
}
