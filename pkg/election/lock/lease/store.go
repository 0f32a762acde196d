package lease

import (
	"context"
	"fmt"
	"math/rand/v2"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock/follow"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Store keeps records in the Leases of one namespace. See In.
type Store struct {
	client    Client
	namespace string
	clock     clock.Clock
	host      string                 // with owner; see OwnedBy
	owner     *metav1.OwnerReference // nil for none
	keys      bool                   // see HolderKeys
	decoder   codec.Decoder
}

var _ lock.Store = (*Store)(nil)

// Option changes a Store. See In.
type Option func(*Store)

// Clock replaces the clock whose wall time is written where a record has no time.
func Clock(c clock.Clock) Option { return func(s *Store) { s.clock = c } }

// In is the store of the Leases in a namespace, which must exist. It watches all of
// them, so the namespace should hold nothing else.
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
	var l coordinationv1.Lease
	err := s.request(s.client.RESTClient().Get()).Name(name).Do(ctx).Into(&l)
	if isAbsent(err, name) {
		return lock.Entry{Name: name}, nil
	}
	if err != nil {
		return lock.Entry{}, s.readError(err)
	}
	e, err := s.entry(&l)
	if err != nil {
		return lock.Entry{}, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	return e, nil
}

// Put implements lock.Store: a POST to create, a PUT with uid and resourceVersion to
// update.
func (s *Store) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	l, err := s.encode(name, r, replaces)
	if err != nil {
		return record.Version{}, err
	}
	var req *rest.Request
	if replaces.UID == "" {
		req = s.request(s.client.RESTClient().Post())
	} else {
		req = s.request(s.client.RESTClient().Put()).Name(name)
	}
	var written coordinationv1.Lease
	if err := req.Body(l).Do(ctx).Into(&written); err != nil {
		return record.Version{}, s.writeError(err, replaces)
	}
	v, err := version(&written)
	if err == nil && replaces.UID != "" && v.UID != replaces.UID {
		err = fmt.Errorf("lease %s was recreated by an update", name)
	}
	if err != nil {
		return record.Version{}, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	return v, nil
}

func (s *Store) encode(name string, r record.Record, replaces record.Version) (*coordinationv1.Lease, error) {
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
	l, err := lease(s.namespace, name, replaces, o)
	if err != nil {
		return nil, err
	}
	l.OwnerReferences = s.owners(&r, l.OwnerReferences)
	s.writeKey(l, o.Fields)
	return l, nil
}

// Watch implements lock.Store.
func (s *Store) Watch(ctx context.Context, deliver func(lock.Event)) error {
	follow.Run(ctx, s.source(), pace(), deliver)
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
	return r.Namespace(s.namespace).Resource("leases").MaxRetries(0)
}
