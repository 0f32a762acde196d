package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/follow"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Store is one member's access to a realm.
type Store struct {
	realm *Realm

	mu    sync.Mutex
	hooks map[Op]Hook
	cut   chan struct{} // closed and replaced when the open streams are cut
}

var (
	_ lock.Remover = (*Store)(nil)
	_ lock.Teller  = (*Store)(nil)
)

// Objects implements lock.Teller.
func (s *Store) Objects() string { return fmt.Sprintf("memory at %p", s.realm) }

// Store makes a new access to the realm, without faults.
func (r *Realm) Store() *Store {
	return &Store{realm: r, hooks: map[Op]Hook{}, cut: make(chan struct{})}
}

// Get implements lock.Store.
func (s *Store) Get(ctx context.Context, name string) (lock.Entry, error) {
	var e lock.Entry
	err := s.do(ctx, Call{Op: Get, Name: name}, func() error {
		e = s.realm.Read(name)
		return nil
	})
	if err != nil {
		return lock.Entry{}, err
	}
	return e, nil
}

// Put implements lock.Store.
func (s *Store) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	reply := make(chan record.Version, 1)
	err := s.do(ctx, Call{Op: Put, Name: name, Record: &r}, func() error {
		v, err := s.realm.Write(name, r, replaces)
		if err == nil {
			select {
			case reply <- v:
			default: // a hook wrote twice
			}
		}
		return err
	})
	if err != nil {
		return record.Version{}, err
	}
	select {
	case v := <-reply:
		return v, nil
	default:
		return record.Version{}, fmt.Errorf("%w: nothing was written yet", lock.ErrUnknown)
	}
}

// Remove implements lock.Remover.
func (s *Store) Remove(ctx context.Context, name string, is record.Version) error {
	return s.do(ctx, Call{Op: Remove, Name: name}, func() error { return s.realm.remove(name, is) })
}

// Watch implements lock.Store. It paces its retries as on the API server, but without jitter.
func (s *Store) Watch(ctx context.Context, deliver func(lock.Event)) error {
	pace := follow.DefaultPace()
	pace.RetryAfter = retryAfter
	follow.Run(ctx, source{s}, pace, deliver)
	return nil
}

// CutWatches breaks the streams that are open now. The next streams show what they did not
// show yet.
func (s *Store) CutWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.cut)
	s.cut = make(chan struct{})
}

type source struct{ s *Store }

func (src source) List(ctx context.Context, _ func()) (follow.List, error) {
	var out follow.List
	err := src.s.do(ctx, Call{Op: List}, func() error {
		out.Entries, out.Revision = src.s.realm.List()
		return nil
	})
	if err != nil {
		return follow.List{}, err
	}
	return out, nil
}

func (src source) Open(ctx context.Context, after uint64) (follow.Stream, error) {
	st := &stream{store: src.s, at: after}
	err := src.s.do(ctx, Call{Op: Watch}, func() error {
		src.s.mu.Lock()
		st.cut = src.s.cut
		src.s.mu.Unlock()
		st.realm().mu.Lock()
		defer st.realm().mu.Unlock()
		st.progress = st.realm().progress
		_, err := st.realm().sinceLocked(after)
		return err
	})
	if err != nil {
		return nil, err
	}
	return st, nil
}

// stream is an open stream. The goroutine that runs the watch owns it.
type stream struct {
	store    *Store
	at       uint64
	progress uint64
	cut      <-chan struct{}
}

func (st *stream) realm() *Realm { return st.store.realm }

func (st *stream) Close() {}

func (st *stream) Next(ctx context.Context) (lock.Event, error) {
	for {
		if st.isCut() {
			return lock.Event{}, errCut
		}
		e, found, news, err := st.look()
		if err != nil {
			return lock.Event{}, err
		}
		if found {
			err := st.store.do(ctx, Call{Op: Deliver, Name: e.Entry.Name, Record: e.Entry.Record}, func() error { return nil })
			if err != nil {
				return lock.Event{}, err
			}
			if st.isCut() {
				return lock.Event{}, errCut
			}
			st.at = max(st.at, e.Entry.Version.Revision)
			return e, nil
		}
		select {
		case <-ctx.Done():
			return lock.Event{}, ctx.Err()
		case <-st.cut:
		case <-news:
		}
	}
}

var errCut = fmt.Errorf("%w: watch cut", lock.ErrUnknown)

func (st *stream) isCut() bool {
	select {
	case <-st.cut:
		return true
	default:
		return false
	}
}

// look returns the next event, or a channel to wait for.
func (st *stream) look() (e lock.Event, found bool, news <-chan struct{}, err error) {
	r := st.realm()
	r.mu.Lock()
	defer r.mu.Unlock()
	changes, err := r.sinceLocked(st.at)
	switch {
	case err != nil:
		return lock.Event{}, false, nil, err
	case len(changes) > 0:
		return lock.Event{Kind: lock.Changed, Entry: changes[0]}, true, nil, nil
	case st.progress != r.progress:
		st.progress = r.progress
		return lock.Event{Kind: lock.Progressed, Revision: r.revision.Load()}, true, nil, nil
	}
	return lock.Event{}, false, r.changed, nil
}

func (s *Store) do(ctx context.Context, c Call, op func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	s.mu.Lock()
	hook := s.hooks[c.Op]
	s.mu.Unlock()
	if hook == nil {
		return op()
	}
	return hook(ctx, c, op)
}

// On gives the operation a fault, which replaces its present one; nil for none.
func (s *Store) On(op Op, h Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == nil {
		delete(s.hooks, op)
		return
	}
	s.hooks[op] = h
}

// Heal removes all faults. Calls that wait in a fault keep waiting.
func (s *Store) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.hooks, func(Op, Hook) bool { return true })
}

// retryAfter returns how long an error asks callers to wait.
func retryAfter(err error) time.Duration {
	if t, ok := errors.AsType[*lock.ThrottledError](err); ok {
		return t.RetryAfter
	}
	return 0
}
