package hostile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
)

// kind is the kind of object that a lock is kept in.
type kind string

const (
	inLease     kind = "Lease"
	inConfigMap kind = "ConfigMap"
)

// raw is a stranger's client. It speaks protobuf, in which text may be invalid.
type raw struct {
	leases, maps rest.Interface
	namespace    string
}

// object is a stored object of either kind.
type object struct {
	lease *coordinationv1.Lease
	cm    *corev1.ConfigMap
}

func newObject(k kind) object {
	if k == inLease {
		return object{lease: &coordinationv1.Lease{}}
	}
	return object{cm: &corev1.ConfigMap{}}
}

func (o object) meta() *metav1.ObjectMeta {
	if o.lease != nil {
		return &o.lease.ObjectMeta
	}
	return &o.cm.ObjectMeta
}

func (o object) any() runtime.Object {
	if o.lease != nil {
		return o.lease
	}
	return o.cm
}

func (o object) copy() object {
	if o.lease != nil {
		return object{lease: o.lease.DeepCopy()}
	}
	return object{cm: o.cm.DeepCopy()}
}

func (r raw) to(k kind, verb func(rest.Interface) *rest.Request) *rest.Request {
	if k == inLease {
		return verb(r.leases).Namespace(r.namespace).Resource("leases")
	}
	return verb(r.maps).Namespace(r.namespace).Resource("configmaps")
}

func (r raw) get(ctx context.Context, k kind, name string) (object, error) {
	o := newObject(k)
	return o, r.to(k, rest.Interface.Get).Name(name).Do(ctx).Into(o.any())
}

func (r raw) put(ctx context.Context, k kind, name string, o object) error {
	return r.to(k, rest.Interface.Put).Name(name).Body(o.any()).Do(ctx).Error()
}

func (r raw) create(ctx context.Context, k kind, o object) error {
	return r.to(k, rest.Interface.Post).Body(o.any()).Do(ctx).Error()
}

func (r raw) delete(ctx context.Context, k kind, name string) error {
	return r.to(k, rest.Interface.Delete).Name(name).Do(ctx).Error()
}

// edit changes the stored object, and tries again when somebody else changed it meanwhile.
func (r raw) edit(ctx context.Context, k kind, name string, change func(object)) error {
	for {
		o, err := r.get(ctx, k, name)
		if err != nil {
			return err
		}
		change(o)
		if err := r.put(ctx, k, name, o); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// recreated makes a copy of the object that can be created.
func recreated(o object) object {
	o = o.copy()
	m := o.meta()
	m.UID, m.ResourceVersion, m.CreationTimestamp, m.ManagedFields = "", "", metav1.Time{}, nil
	return o
}

func (o object) annotate(key, value string) {
	m := o.meta()
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[key] = value
}

// annotateJSON changes the fields of an annotation, which is added if there is none.
func (o object) annotateJSON(key string, change func(map[string]any)) {
	fields := map[string]any{}
	if s, found := o.meta().Annotations[key]; found {
		if err := json.Unmarshal([]byte(s), &fields); err != nil {
			panic(fmt.Sprintf("annotation %s is broken before it is edited: %v", key, err))
		}
	}
	change(fields)
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	o.annotate(key, string(text))
}

// leader changes one of client-go's fields, which both kinds have: in the annotation of a
// ConfigMap, or in the spec of a Lease. field is its name in the annotation.
func (o object) leader(field string, value any) {
	if o.lease == nil {
		o.annotateJSON(configmap.LeaderAnnotation, func(m map[string]any) { m[field] = value })
		return
	}
	s := &o.lease.Spec
	switch v := value.(type) {
	case string:
		s.HolderIdentity = &v
	case int32:
		if field == "leaderTransitions" {
			s.LeaseTransitions = &v
		} else {
			s.LeaseDurationSeconds = &v
		}
	case time.Time:
		t := &metav1.MicroTime{Time: v}
		if field == "acquireTime" {
			s.AcquireTime = t
		} else {
			s.RenewTime = t
		}
	}
}

func (o object) holder(identity string)   { o.leader("holderIdentity", identity) }
func (o object) duration(seconds int32)   { o.leader("leaseDurationSeconds", seconds) }
func (o object) transitions(number int32) { o.leader("leaderTransitions", number) }
func (o object) times(t time.Time) {
	o.leader("acquireTime", t)
	o.leader("renewTime", t)
}
