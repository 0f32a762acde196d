package election_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// altering is a store behind a policy that changes what members write to the lock, and behind a network
// that loses answers.
type altering struct {
	*memory.Store
	mu    sync.Mutex
	alter func(*record.Record) // nil for nothing
	puts  int
}

// by makes the policy change records from here on.
func (s *altering) by(alter func(*record.Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alter, s.puts = alter, 0
}

func (s *altering) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	s.mu.Lock()
	alter := s.alter
	s.puts++
	s.mu.Unlock()
	if name != "a" || alter == nil || r.Holder == "" {
		return s.Store.Put(ctx, name, r, replaces)
	}
	alter(&r)
	if _, err := s.Store.Put(ctx, name, r, replaces); err != nil {
		return record.Version{}, err
	}
	return record.Version{}, fmt.Errorf("%w: no answer", lock.ErrUnknown)
}

// TestTimesThatAPolicyChanges checks rule sending-counts: if the watch shows our write with other times
// than we sent, the write begins and extends no term, since electors of client-go rely on those times.
func TestTimesThatAPolicyChanges(t *testing.T) {
	for name, change := range map[string]func(*record.Record){
		"renew time":   func(r *record.Record) { r.Renewed = r.Renewed.Add(-time.Hour) },
		"acquire time": func(r *record.Record) { r.Acquired = r.Acquired.Add(-time.Hour) },
		"duration":     func(r *record.Record) { r.Duration = 2 * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				var store *altering
				g.bend = func(c *election.Config, s *election.Spec) {
					store = &altering{Store: c.Locks.(*memory.Store)}
					c.Locks = store
					s.Foreign = machine.Foreigners{Sharing: machine.SharedWithClientGo, Wait: 32 * time.Second}
				}
				m1 := g.join("m1", "stable", stable)
				after(time.Minute)
				g.wantLeader("a", m1, m1)
				store.by(func(*record.Record) {})
				after(time.Minute)
				g.wantLeader("a", m1, m1) // lost answers do no harm
				store.by(change)
				after(time.Minute)
				g.wantLeader("a", nil, m1)
				if store.puts > 110 { // beats included
					t.Errorf("%d writes in a minute", store.puts)
				}
				store.by(nil)
				after(time.Minute)
				g.wantLeader("a", m1, m1)
				g.end(m1)
			})
		})
	}
}

// TestARangeOfTimesThatAPolicyChanges checks rule ranges-run-out where the store keeps other times than the holder wrote: the holder
// does not tell its work the range that it wrote, and its next range begins after the last one that it told.
func TestARangeOfTimesThatAPolicyChanges(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		stores := map[string]*altering{}
		g.bend = func(c *election.Config, s *election.Spec) {
			stores[c.Host] = &altering{Store: c.Locks.(*memory.Store)}
			c.Locks, s.Range = stores[c.Host], true
		}
		m1 := g.join("m1", "stable", stable)
		after(time.Minute)
		m2 := g.join("m2", "stable", stable)
		after(time.Minute)
		g.wantLeader("a", m1, m1, m2)
		var frozen time.Time
		stores["m1"].by(func(r *record.Record) {
			if frozen.IsZero() {
				frozen = r.Renewed.Add(-3 * time.Second)
			}
			r.Renewed = frozen
		})
		var stored time.Time // the latest end of a range that the store had
		var until time.Time  // the end of all ranges before the present one
		var start, end time.Time
		for range 60 {
			after(time.Second)
			if at := g.realm.Read("a").Record.RangeEnd(); at.After(stored) {
				stored = at
			}
			for _, m := range []*member{m1, m2} {
				from, to, ok := m.status["a"].Range()
				switch {
				case ok && from.Equal(start):
					end = to
				case ok:
					start, end, until = from, to, end
				}
				if ok && (!start.After(until) || to.After(stored)) {
					t.Fatalf("%s: the range is from %v to %v, after one to %v, and the store has at most %v", m.name, start, to, until, stored)
				}
			}
			if len(leaders(m1, m2)["a"]) == 0 {
				stores["m1"].by(nil)
			}
		}
		g.end(m1, m2)
	})
}
