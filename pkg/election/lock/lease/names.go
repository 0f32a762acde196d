package lease

import (
	"slices"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// NameAnnotation says by which name the holder's user knows it: the holder's identity, a space, and the name. It
// counts only beside that holder.
const NameAnnotation = "primacy.dev/holder-name"

// Names translates identities of holders, which are used once, to the names that users gave the members. Its methods
// may be called from any goroutine.
type Names struct {
	host, name string

	mu    sync.Mutex
	known []called // the latest last
}

// called is a holder and its name.
type called struct{ identity, name string }

// mostNames is how many holders are remembered, one after the other of one lock.
const mostNames = 16

// NewNames makes the Names of the member on a host, which its user calls name.
func NewNames(host, name string) *Names { return &Names{host: host, name: name} }

// Of returns the name of a holder; its identity if no name is known.
func (n *Names) Of(identity string) string {
	if n.own(identity) {
		return n.name
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.IndexFunc(n.known, func(c called) bool { return c.identity == identity }); i >= 0 {
		return n.known[i].name
	}
	return identity
}

func (n *Names) own(identity string) bool {
	return record.OurForm(identity) && record.HostOf(identity) == n.host
}

// read notes the name beside a holder. It must be called before the holder is shown to anybody.
func (n *Names) read(l *coordinationv1.Lease) {
	identity, name, found := strings.Cut(l.Annotations[NameAnnotation], " ")
	if !found || identity != value(l.Spec.HolderIdentity) || !record.OurForm(identity) || name == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known = slices.DeleteFunc(n.known, func(c called) bool { return c.identity == identity })
	n.known = append(n.known[max(0, len(n.known)-mostNames+1):], called{identity, name})
}

// write says our name beside our identity.
func (n *Names) write(l *coordinationv1.Lease) {
	holder := value(l.Spec.HolderIdentity)
	if !n.own(holder) {
		return
	}
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	l.Annotations[NameAnnotation] = holder + " " + n.name
}

// Named makes the store write the member's name beside its identity, and read the names of others.
func Named(n *Names) Option { return func(s *Store) { s.names = n } }

// Labels makes the store write these labels beside those of each object, as a LeaseLock of client-go does.
func Labels(labels map[string]string) Option { return func(s *Store) { s.labels = labels } }

func (s *Store) writeNames(l *coordinationv1.Lease) {
	if s.names != nil {
		s.names.write(l)
	}
	if len(s.labels) > 0 && l.Labels == nil {
		l.Labels = map[string]string{}
	}
	for k, v := range s.labels {
		l.Labels[k] = v
	}
}
