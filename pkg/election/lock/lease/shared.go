package lease

import (
	"context"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// SharedStore is a Store in a namespace that is not ours alone. See Shared.
type SharedStore struct{ *Store }

// MostStreams is how many names a SharedStore watches with a stream for each. Beyond that it follows one stream of the
// whole namespace, and needs the right to list and watch all its Leases.
const MostStreams = 16

var _ lock.NameWatcher = (*SharedStore)(nil)

// Shared makes the store of Leases that are shared with other electors, in a namespace that
// may hold much else. It is watched by name, so it cannot hold sessions.
func Shared(client Client, namespace string, options ...Option) *SharedStore {
	return &SharedStore{In(client, namespace, options...)}
}

// WatchNames implements lock.NameWatcher, with a stream of its own for each name, or with one for all if they are more
// than MostStreams: it then drops all other Leases.
func (s *SharedStore) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	if len(names) > MostStreams {
		return s.objects.WatchOnly(ctx, names, deliver)
	}
	return s.objects.WatchNames(ctx, names, deliver)
}
