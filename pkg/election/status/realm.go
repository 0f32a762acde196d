package status

import (
	"context"
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
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
}

// Realm holds the stores to look at.
type Realm struct {
	// Leases has the locks that are Leases, and the sessions.
	Leases lock.Store
	// ConfigMaps shows the ConfigMaps whose labels say that they are locks of the group. Watched by name it
	// shows others too: an elector that is not Primacy sets no labels. Nil to leave ConfigMaps out.
	ConfigMaps lock.NameWatcher
}

// Notes for people who may not list ConfigMaps.
const (
	deniedAll   = "elections whose locks are ConfigMaps are not shown: you may not list and watch configmaps in this namespace"
	deniedOther = "elections whose locks are ConfigMaps are shown only if the configuration names them: you may not list and watch all configmaps in this namespace"
)

// part is one stream of a look, and what it has shown. The goroutine of Follow owns it.
type part struct {
	kind  Kind
	watch func(context.Context, func(lock.Event)) error
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
	parts := []*part{{kind: Lease, watch: r.Leases.Watch}}
	if r.ConfigMaps == nil {
		return parts
	}
	other := deniedAll
	if names := s.configMaps(); len(names) > 0 {
		other = deniedOther
		parts = append(parts, &part{kind: ConfigMap, denied: deniedAll, watch: func(ctx context.Context, deliver func(lock.Event)) error {
			return r.ConfigMaps.WatchNames(ctx, names, deliver)
		}})
	}
	return append(parts, &part{kind: ConfigMap, watch: r.ConfigMaps.Watch, denied: other})
}

// configMaps returns the names of the ConfigMaps that the selection expects.
func (s Selection) configMaps() (names []string) {
	seen := map[string]bool{}
	for _, e := range s.Expected {
		for _, ref := range []Ref{e.lock(), e.MigrateFrom} {
			if ref.Kind == ConfigMap && !seen[ref.Name] {
				seen[ref.Name] = true
				names = append(names, ref.Name)
			}
		}
	}
	return names
}
