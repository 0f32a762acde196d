package codec

import (
	"fmt"
	"maps"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// rest is the part of an object that is not ours, as a Record carries it. It is immutable.
type rest struct {
	annotations, labels map[string]string
	extra               any
}

// restOf returns the object's rest; nil if there is nothing to preserve.
func restOf(o Object) any {
	r := rest{extra: o.Extra}
	for k, v := range o.Annotations {
		if !ownAnnotation(k) {
			put(&r.annotations, k, v)
		}
	}
	for k, v := range o.Labels {
		if !ownLabel(k, v) {
			put(&r.labels, k, v)
		}
	}
	if r.annotations == nil && r.labels == nil && r.extra == nil {
		return nil
	}
	return &r
}

// object returns a new object with the record's Rest only.
func object(r *record.Record) (Object, error) {
	switch r := r.Rest.(type) {
	case nil:
		return Object{}, nil
	case *rest:
		return Object{Annotations: maps.Clone(r.annotations), Labels: maps.Clone(r.labels), Extra: r.extra}, nil
	}
	return Object{}, fmt.Errorf("%w: Record.Rest is a %T, which no store on Kubernetes made", lock.ErrInvalid, r.Rest)
}

// MakeRoom drops annotations of others, the largest first, until all annotations fit, and more bytes beside them. A lock that nobody can
// write any more would have no leader, ever. MakeRoom returns the size of all that.
func (o *Object) MakeRoom(more int) (total int) {
	size := func(key string) int { return len(key) + len(o.Annotations[key]) }
	total = more
	for key := range o.Annotations {
		total += size(key)
	}
	for total > MaxAnnotations {
		largest := ""
		for key := range o.Annotations {
			if !ownAnnotation(key) && (largest == "" || size(key) > size(largest) || size(key) == size(largest) && key < largest) {
				largest = key
			}
		}
		if largest == "" {
			break
		}
		total -= size(largest)
		delete(o.Annotations, largest)
	}
	return total
}

func put(m *map[string]string, k, v string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[k] = v
}
