package lease

import (
	"fmt"
	"math"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// extra is what a Lease carries beside annotations, labels and the fields that we write.
// It never changes. It lacks managedFields: a write without them does not change them.
type extra struct {
	generateName    string
	owners          []metav1.OwnerReference
	finalizers      []string
	strategy        *coordinationv1.CoordinatedLeaseStrategy
	preferredHolder *string
}

func extraOf(l *coordinationv1.Lease) any {
	if l.GenerateName == "" && len(l.OwnerReferences) == 0 && len(l.Finalizers) == 0 &&
		l.Spec.Strategy == nil && l.Spec.PreferredHolder == nil {
		return nil
	}
	return &extra{
		generateName:    l.GenerateName,
		owners:          l.OwnerReferences,
		finalizers:      l.Finalizers,
		strategy:        l.Spec.Strategy,
		preferredHolder: l.Spec.PreferredHolder,
	}
}

// object reads a Lease and keeps parts of it, so the Lease must not change later.
func object(l *coordinationv1.Lease) codec.Object {
	return codec.Object{
		Fields: codec.Fields{
			Holder:          value(l.Spec.HolderIdentity),
			DurationSeconds: int64(value(l.Spec.LeaseDurationSeconds)),
			Acquired:        value(l.Spec.AcquireTime).Time,
			Renewed:         value(l.Spec.RenewTime).Time,
			Transitions:     int64(value(l.Spec.LeaseTransitions)),
		},
		Annotations: l.Annotations,
		Labels:      l.Labels,
		Extra:       extraOf(l),
	}
}

// lease encodes the object as a Lease.
func lease(namespace, name string, replaces record.Version, o codec.Object) (*coordinationv1.Lease, error) {
	if o.Fields.Transitions > math.MaxInt32 || o.Fields.DurationSeconds > math.MaxInt32 {
		return nil, fmt.Errorf("%w: a number is too large for a Lease", lock.ErrInvalid)
	}
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Namespace:   namespace,
			Annotations: o.Annotations,
			Labels:      o.Labels,
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:   new(o.Fields.Holder),
			AcquireTime:      microTime(o.Fields.Acquired),
			RenewTime:        microTime(o.Fields.Renewed),
			LeaseTransitions: new(int32(o.Fields.Transitions)), // #nosec G115 -- checked above
		},
	}
	if o.Fields.DurationSeconds != 0 {
		l.Spec.LeaseDurationSeconds = new(int32(o.Fields.DurationSeconds)) // #nosec G115 -- checked above
	}
	if replaces.UID != "" {
		l.UID = types.UID(replaces.UID)
		l.ResourceVersion = strconv.FormatUint(replaces.Revision, 10)
	}
	switch e := o.Extra.(type) {
	case nil:
	case *extra:
		l.GenerateName, l.OwnerReferences, l.Finalizers = e.generateName, e.owners, e.finalizers
		l.Spec.Strategy, l.Spec.PreferredHolder = e.strategy, e.preferredHolder
	default:
		return nil, fmt.Errorf("%w: Record.Rest was made by another kind of store (%T)", lock.ErrInvalid, e)
	}
	return l, nil
}

func microTime(t time.Time) *metav1.MicroTime {
	if t.IsZero() {
		return nil
	}
	return &metav1.MicroTime{Time: t}
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
