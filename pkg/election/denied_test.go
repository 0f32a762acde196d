package election_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/follow"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// oneByOne is a store of a realm beside the sessions that members watch name by name, as they watch ConfigMaps. It denies a name.
type oneByOne struct {
	*memory.Store
	realm  *memory.Realm
	denies *atomic.Pointer[string]
}

func (s oneByOne) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	if len(names) == 0 {
		<-ctx.Done()
		return nil
	}
	follow.Run(ctx, follow.Names(s, names), follow.DefaultPace(), deliver)
	return nil
}

func (s oneByOne) denied(name string) error {
	if denied := s.denies.Load(); denied != nil && name == *denied {
		return fmt.Errorf("%w: %s", lock.ErrDenied, name)
	}
	return nil
}

func (s oneByOne) ListName(_ context.Context, name string, at uint64) ([]lock.Entry, uint64, error) {
	if err := s.denied(name); err != nil {
		return nil, 0, err
	}
	if at == 0 {
		at = s.realm.Revision()
	}
	if e := s.realm.Read(name); e.Record != nil {
		return []lock.Entry{e}, at, nil
	}
	return nil, at, nil
}

func (s oneByOne) OpenName(_ context.Context, name string, after uint64) (follow.Stream, error) {
	if err := s.denied(name); err != nil {
		return nil, err
	}
	return &oneStream{s, name, after, (clocktest.Bubble{}).Now().Add(5 * time.Minute)}, nil
}

// oneStream looks at the realm again and again. It ends in time, as an API server ends watches and looks at rights only when they begin.
type oneStream struct {
	s    oneByOne
	name string
	at   uint64
	till record.Instant
}

func (*oneStream) Close() {}

func (o *oneStream) Next(ctx context.Context) (lock.Event, error) {
	for (clocktest.Bubble{}).Now() < o.till {
		changes, _, err := o.s.realm.Since(o.at)
		if err != nil {
			return lock.Event{}, err
		}
		for _, e := range changes {
			o.at = e.Version.Revision
			if e.Name == o.name {
				return lock.Event{Kind: lock.Changed, Entry: e}, nil
			}
		}
		if !clock.Wait(ctx, 10*time.Millisecond) {
			return lock.Event{}, ctx.Err()
		}
	}
	return lock.Event{}, lock.ErrEnded
}

// TestADeniedNameHoldsUpNoOther checks that members without the right to one of several locks that they watch by name follow the others: a
// lock that its holder releases is taken. The holder of the denied lock goes on, and once the right is back, that lock is followed again.
func TestADeniedNameHoldsUpNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		apart := g.realm.Beside()
		denies := &atomic.Pointer[string]{}
		g.bend = func(_ *election.Config, s *election.Spec) {
			s.Locks, s.Renewal = oneByOne{apart.Store(), apart, denies}, record.RenewalRecord
		}
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(20 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		denied := "b"
		denies.Store(&denied)
		after(11 * time.Minute)
		g.wantLeader("a", m1, m1, m2)
		g.wantLeader("b", m1, m1, m2)
		if n := m1.status["b"].Cycle(); n != 1 {
			t.Errorf("the holder of the denied lock began %d terms", n)
		}
		m1.leave(t)
		after(time.Minute)
		g.wantLeader("a", m2, m2)
		denies.Store(nil)
		after(time.Minute)
		g.wantLeader("b", m2, m2)
		g.end(m2)
	})
}
