package configmap

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// extra is what a ConfigMap carries beside annotations, labels and the record. It never
// changes. It lacks managedFields: a write without them does not change them.
type extra struct {
	generateName string
	owners       []metav1.OwnerReference
	finalizers   []string
	data         map[string]string
	binaryData   map[string][]byte
	immutable    *bool
	// unknown are the fields of the leader annotation that we do not know.
	unknown string
}

func extraOf(m *corev1.ConfigMap, unknown string) any {
	if m.GenerateName == "" && len(m.OwnerReferences) == 0 && len(m.Finalizers) == 0 &&
		len(m.Data) == 0 && len(m.BinaryData) == 0 && m.Immutable == nil && unknown == "" {
		return nil
	}
	return &extra{
		generateName: m.GenerateName,
		owners:       m.OwnerReferences,
		finalizers:   m.Finalizers,
		data:         m.Data,
		binaryData:   m.BinaryData,
		immutable:    m.Immutable,
		unknown:      unknown,
	}
}

// object reads a ConfigMap, and keeps parts of it: they must not change later.
func object(m *corev1.ConfigMap) codec.Object {
	o := codec.Object{Annotations: m.Annotations, Labels: m.Labels}
	unknown := ""
	if s, found := m.Annotations[LeaderAnnotation]; found {
		o.Fields, unknown = readLeader(s)
		delete(m.Annotations, LeaderAnnotation)
	}
	o.Extra = extraOf(m, unknown)
	return o
}

// configMap makes the ConfigMap of an object. It keeps the object's annotations.
func configMap(namespace, name string, replaces record.Version, o codec.Object) (*corev1.ConfigMap, error) {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Namespace:   namespace,
		Annotations: o.Annotations,
		Labels:      o.Labels,
	}}
	if replaces.UID != "" {
		m.UID = types.UID(replaces.UID)
		m.ResourceVersion = strconv.FormatUint(replaces.Revision, 10)
	}
	unknown := ""
	switch e := o.Extra.(type) {
	case nil:
	case *extra:
		m.GenerateName, m.OwnerReferences, m.Finalizers = e.generateName, e.owners, e.finalizers
		m.Data, m.BinaryData, m.Immutable = e.data, e.binaryData, e.immutable
		unknown = e.unknown
	default:
		return nil, fmt.Errorf("%w: Record.Rest was made by another kind of store (%T)", lock.ErrInvalid, e)
	}
	if o.Fields == (codec.Fields{}) && unknown == "" {
		return m, nil // never held: see the package's documentation
	}
	l, err := writeLeader(o.Fields, unknown)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lock.ErrInvalid, err)
	}
	if total := o.MakeRoom(len(LeaderAnnotation) + len(l)); total > codec.MaxAnnotations { // codec did not know of this annotation
		return nil, fmt.Errorf("%w: annotations: %d bytes are more than %d", lock.ErrInvalid, total, codec.MaxAnnotations)
	}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[LeaderAnnotation] = l
	return m, nil
}

// silent says whether the record needs no leader annotation: nobody ever held it, and it has
// no times.
func silent(r *record.Record) bool {
	return r.Holder == "" && r.HolderKey == "" && r.Duration == 0 && r.Transitions == 0 &&
		r.Acquired.IsZero() && r.Renewed.IsZero()
}
