package lease

import (
	"context"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// SharedStore is a Store in a namespace that is not ours alone. See Shared.
type SharedStore struct{ *Store }

var _ lock.NameWatcher = (*SharedStore)(nil)

// Shared makes the store of Leases that are shared with other electors, in a namespace that
// may hold much else. It is watched by name, so it cannot hold sessions.
func Shared(client Client, namespace string, options ...Option) *SharedStore {
	return &SharedStore{In(client, namespace, options...)}
}

// WatchNames implements lock.NameWatcher, with a stream of its own for each name.
func (s *SharedStore) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	return s.objects.WatchNames(ctx, names, deliver)
}
