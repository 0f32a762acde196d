package lease

import (
	"context"
	"fmt"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock/follow"
)

// SharedStore is a Store in a namespace that is not ours alone. See Shared.
type SharedStore struct{ *Store }

var _ lock.NameWatcher = (*SharedStore)(nil)

// Shared is the store of Leases that are shared with other electors, in a namespace that
// may hold much else. It is watched by name, so it is no place for sessions.
func Shared(client Client, namespace string, options ...Option) *SharedStore {
	return &SharedStore{In(client, namespace, options...)}
}

// WatchNames implements lock.NameWatcher. Each name has a stream of its own, so the order
// of the store is kept for each object but not across them; a list shows all names at
// one revision. Without names nothing is delivered.
func (s *SharedStore) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	for _, name := range names {
		if err := codec.CheckName(name); err != nil {
			return fmt.Errorf("%w: %w", lock.ErrInvalid, err)
		}
	}
	if len(names) == 0 {
		<-ctx.Done()
		return nil
	}
	follow.Run(ctx, follow.Names(s.source(), names), pace(), deliver)
	return nil
}
