package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// store is the store of the lock.
//
// An elector of client-go releases the lock before its OnStoppedLeading ends the process, and many programs rely on
// that to end their work. So the store sends no take before pause has passed since it saw such a release. If the request's
// deadline comes earlier, the store refuses the take at once, and says when to try again.
//
// The last write may announce the end of this process.
type store struct {
	*lease.SharedStore
	// pause is as long as an elector of client-go takes, on average, to take a lock that another one released.
	pause time.Duration
	// turn holds a value while a write is under way, and for ever after the last one.
	turn chan struct{}

	mu sync.Mutex
	// foreign: an elector of client-go holds the lock.
	foreign bool
	// freed is the last version that an elector of client-go released, and freedAt when we saw it.
	freed   record.Version
	freedAt record.Instant
}

// WatchNames implements lock.NameWatcher.
func (s *store) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	return s.SharedStore.WatchNames(ctx, names, func(e lock.Event) {
		switch e.Kind {
		case lock.Changed:
			s.see(e.Entry)
		case lock.Listed:
			for _, one := range e.List {
				s.see(one)
			}
		}
		deliver(e)
	})
}

// see notes whose the lock is.
func (s *store) see(e lock.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r := e.Record; {
	case r == nil:
		s.foreign = false
	case r.Holder != "":
		s.foreign = !record.OurForm(r.Holder)
	case s.foreign && !r.Bound():
		s.foreign, s.freed, s.freedAt = false, e.Version, clock.Boottime().Now()
	}
}

// Put implements lock.Store.
func (s *store) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return record.Version{}, fmt.Errorf("%w: %w", lock.ErrUnknown, ctx.Err())
	}
	s.mu.Lock()
	early := replaces == s.freed && replaces != record.Version{}
	at := s.freedAt.Add(s.pause)
	s.mu.Unlock()
	if left := clock.Until(clock.Boottime(), at); early && left > 0 {
		if by, is := ctx.Deadline(); is && time.Until(by) < left {
			return record.Version{}, &lock.ThrottledError{RetryAfter: left, Err: errJustFreed}
		}
		if !clock.Wait(ctx, left) {
			return record.Version{}, fmt.Errorf("%w: %w", lock.ErrUnknown, ctx.Err())
		}
	}
	return s.SharedStore.Put(ctx, name, r, replaces)
}

// errJustFreed says why the store did not send a take.
var errJustFreed = errors.New("the process of the elector that released the lock may not have ended yet")

// notice is how long before its end a process announces it. Leases count whole seconds.
const notice = time.Second

// goodbye shortens the lease that the holder has on the lock to the notice, and lets nobody write to it after that.
// The others take the lock when the notice is over, so the process must end within it, counted from this call.
func (s *store) goodbye(ctx context.Context, name, holder string) error {
	select {
	case s.turn <- struct{}{}: // for ever
	case <-ctx.Done():
		return ctx.Err()
	}
	e, err := s.Get(ctx, name)
	if err != nil {
		return err
	}
	if e.Absent() || e.Record.Holder != holder || !e.Record.Bound() {
		return fmt.Errorf("lease %s is not ours any more", name)
	}
	r, mark := *e.Record, *e.Record.Mark
	mark.Beat++ // observers count only from a new beat
	mark.Duration = notice
	r.Mark, r.Duration, r.Renewed = &mark, notice, time.Time{}
	_, err = s.SharedStore.Put(ctx, name, r, e.Version)
	return err
}

// private is a realm in memory for one session. It does not grow.
type private struct {
	*memory.Store
	realm *memory.Realm
	puts  atomic.Int64
}

// historyOf is how many changes the realm keeps at most.
const historyOf = 64

// Put implements lock.Store.
func (p *private) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	if p.puts.Add(1)%historyOf == 0 {
		p.realm.Compact()
	}
	return p.Store.Put(ctx, name, r, replaces)
}
