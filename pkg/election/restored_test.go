package election_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// restoring is access to a store that a backup replaces.
type restoring struct {
	now    atomic.Pointer[memory.Store]
	backup *memory.Store
	// done is closed once the backup has replaced it.
	done chan struct{}
}

func (r *restoring) restore() {
	was := r.now.Swap(r.backup)
	close(r.done)
	was.CutWatches()
}

func (r *restoring) Get(ctx context.Context, name string) (lock.Entry, error) {
	return r.now.Load().Get(ctx, name)
}

func (r *restoring) Put(ctx context.Context, name string, rec record.Record, v record.Version) (record.Version, error) {
	return r.now.Load().Put(ctx, name, rec, v)
}

func (r *restoring) Watch(ctx context.Context, deliver func(lock.Event)) error {
	first, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	go func() { // joined by the receive from over below
		defer close(over)
		select {
		case <-r.done:
			cancel()
		case <-first.Done():
		}
	}()
	err := r.now.Load().Watch(first, deliver)
	cancel()
	<-over
	if err != nil || ctx.Err() != nil {
		return err
	}
	return r.backup.Watch(ctx, deliver)
}

// TestARestoredStoreIsWaitedOut restores a store to an earlier state, unknown to a holder that is cut
// off. It checks rule newer-by-version: a member that notices takes no lock before that holder has
// certainly stopped, not even the lock of an election that the member takes up only then.
func TestARestoredStoreIsWaitedOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "x")
		backup := memory.New(g.clock)
		g.bend = func(c *election.Config, _ *election.Spec) { c.Locks = backup.Store() }
		before := g.join("m0", "stable", stable)
		after(40 * time.Second)
		before.leave(t) // the backup shows x as released
		g.bend = nil
		holder := g.join("m2", "stable", stable)
		after(200 * time.Second)
		g.names = nil
		r := &restoring{backup: backup.Store(), done: make(chan struct{})}
		r.now.Store(g.realm.Store())
		g.bend = func(c *election.Config, _ *election.Spec) { c.Locks = r }
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		hangAll(holder.store)
		holder.store.CutWatches()
		r.restore()
		after(500 * time.Millisecond)
		status, err := m1.manager.Add(election.Spec{Name: "x"}, g.judge.runner("m1", 0))
		if err != nil {
			t.Fatal(err)
		}
		after(60 * time.Second)
		if !status.IsLeader() {
			t.Error("nobody leads")
		}
		holder.store.Heal()
		m1.leave(t)
		holder.leave(t)
		for _, o := range g.judge.overlapsOnly() {
			t.Error(o)
		}
	})
}
