package status

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// Kind is a kind of lock object.
type Kind string

const (
	// Lease is the usual kind.
	Lease Kind = "Lease"
	// ConfigMap is the kind of electors from before there were Leases, and of Istio's.
	ConfigMap Kind = "ConfigMap"
)

// Ref names a lock object. The zero Ref is none.
type Ref struct {
	Kind Kind `json:"kind"`
	// Namespace is where it is; empty for that of the sessions.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is for people.
func (r Ref) String() string {
	if r.Namespace != "" {
		return string(r.Kind) + " " + r.Namespace + "/" + r.Name
	}
	return string(r.Kind) + " " + r.Name
}

// Realm holds the stores to look at.
type Realm struct {
	// Leases has the locks that are Leases, and the sessions.
	Leases lock.Store
	// ConfigMaps shows the ConfigMaps whose labels say that they are locks of the group. Watched by name it
	// shows others too: an elector that is not Primacy sets no labels. Nil to leave ConfigMaps out.
	ConfigMaps lock.NameWatcher
	// In makes the stores of another namespace. It is asked for those in which a Selection expects locks; nil if there
	// are none. Their locks are watched by name.
	In func(namespace string) Place
}

// Place has the locks in a namespace that is not that of the sessions.
type Place struct{ Leases, ConfigMaps lock.NameWatcher }

// Notes for people who may not list ConfigMaps.
const (
	deniedAll   = "elections whose locks are ConfigMaps are not shown: you may not list and watch configmaps in this namespace"
	deniedOther = "elections whose locks are ConfigMaps are shown only if the configuration names them: you may not list and watch all configmaps in this namespace"
)

// part is one stream of a look, and what it has shown. The goroutine of Follow owns it.
type part struct {
	kind Kind
	// namespace is empty for that of the sessions.
	namespace string
	watch     func(context.Context, func(lock.Event)) error
	// denied is the note to give if access is denied; empty if that is an error.
	denied string

	known   map[string]lock.Entry
	listed  bool
	refused bool
	// heard is when the stream last showed anything; cut says that it shows nothing now.
	heard time.Time
	cut   bool
}

// parts returns the streams that a selection needs.
func (r Realm) parts(s Selection) []*part {
	parts := append([]*part{{kind: Lease, watch: r.Leases.Watch}}, r.elsewhere(s)...)
	if r.ConfigMaps == nil {
		return parts
	}
	other := deniedAll
	if names := s.locks()[site{ConfigMap, ""}]; len(names) > 0 {
		other = deniedOther
		parts = append(parts, &part{kind: ConfigMap, denied: deniedAll, watch: func(ctx context.Context, deliver func(lock.Event)) error {
			return r.ConfigMaps.WatchNames(ctx, names, deliver)
		}})
	}
	return append(parts, &part{kind: ConfigMap, watch: r.ConfigMaps.Watch, denied: other})
}

// elsewhere returns the streams of other namespaces that a selection needs.
func (r Realm) elsewhere(s Selection) (parts []*part) {
	if r.In == nil {
		return nil
	}
	locks := s.locks()
	at := slices.SortedFunc(maps.Keys(locks), func(a, b site) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.kind, b.kind))
	})
	for _, of := range at {
		if of.namespace == "" {
			continue
		}
		place := r.In(of.namespace)
		store, resource := place.Leases, "leases"
		if of.kind == ConfigMap {
			store, resource = place.ConfigMaps, "configmaps"
		}
		parts = append(parts, &part{
			kind: of.kind, namespace: of.namespace,
			denied: fmt.Sprintf("elections whose locks are %s in namespace %s are not shown: you may not list and watch %s there", plurals[of.kind], of.namespace, resource),
			watch: func(ctx context.Context, deliver func(lock.Event)) error {
				return store.WatchNames(ctx, locks[of], deliver)
			},
		})
	}
	return parts
}

var plurals = map[Kind]string{Lease: "Leases", ConfigMap: "ConfigMaps"}

// site is where locks of one kind are.
type site struct {
	kind      Kind
	namespace string
}

// locks returns the names of the locks that the selection expects, by where they are.
func (s Selection) locks() map[site][]string {
	all, seen := map[site][]string{}, map[Ref]bool{{}: true}
	for _, e := range s.Expected {
		for _, ref := range []Ref{e.lock(), e.MigrateFrom} {
			if at := (site{ref.Kind, ref.Namespace}); !seen[ref] {
				seen[ref] = true
				all[at] = append(all[at], ref.Name)
			}
		}
	}
	return all
}
