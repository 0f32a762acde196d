package lease

import (
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
)

// KeyAnnotation is where Istio keeps the holder's key on a Lease.
const KeyAnnotation = "leader.istio.io/holder-key"

// HolderKeys makes the store keep Record.HolderKey, for locks shared with Istio. Without
// it a Lease has no room for a key: the store does not write it, and leaves the annotation
// to others.
func HolderKeys() Option { return func(s *Store) { s.keys = true } }

// readKey moves the key out of the annotations, which it takes over.
func (s *Store) readKey(o *codec.Object) {
	if key, found := o.Annotations[KeyAnnotation]; found && s.keys {
		o.Fields.HolderKey = key
		delete(o.Annotations, KeyAnnotation)
	}
}

func (s *Store) writeKey(l *coordinationv1.Lease, f codec.Fields) {
	if !s.keys || f.HolderKey == "" {
		return
	}
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	l.Annotations[KeyAnnotation] = f.HolderKey
}
