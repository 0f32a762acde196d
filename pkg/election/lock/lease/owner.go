package lease

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// OwnedBy makes a Pod the owner of the sessions that the members on a host write, so that
// Kubernetes deletes the sessions with the Pod. The members' identities begin with the host.
// A slot that another Pod left loses that owner, or it would be deleted with that Pod.
func OwnedBy(host string, pod metav1.OwnerReference) Option {
	return func(s *Store) { s.host, s.owner = host, &pod }
}

// owners returns the owners to write: those that the object has; for sessions of ours, see OwnedBy.
func (s *Store) owners(r *record.Record, present []metav1.OwnerReference) []metav1.OwnerReference {
	whose := r.Holder
	if r.Member != nil {
		whose = cmp.Or(r.Holder, r.Member.Identity) // a session that has ended has no holder
	}
	if s.owner == nil || !r.IsSession() || !strings.HasPrefix(whose, s.host+"_") {
		return present
	}
	kept := slices.DeleteFunc(slices.Clone(present), func(o metav1.OwnerReference) bool { return o.Kind == s.owner.Kind })
	return append(kept, *s.owner)
}
