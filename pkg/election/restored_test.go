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

// restoringNamed is restoring, watched by name.
type restoringNamed struct{ *restoring }

func (r restoringNamed) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	return r.Watch(ctx, lock.Only(names, deliver))
}

// TestARestoreBehindAReload has a member take an election up anew, whose lock is watched by name, and restores the store to an earlier
// state before the new watch has listed the lock. The holder is cut off. The watch of the sessions is slower than that of the lock. It
// checks rule newer-by-version: the member knew a newer revision of the lock's store, so it takes nothing.
func TestARestoreBehindAReload(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		restoresBehind(t, func(g *group, m *member) { g.reload(m, "x", 16*time.Second) })
	})
}

// TestARestoreBehindAnotherIncarnation is the same with a member that comes back under a new identity.
func TestARestoreBehindAnotherIncarnation(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		restoresBehind(t, func(g *group, m *member) { g.realm.Delete(slot(m.name)) })
	})
}

func restoresBehind(t *testing.T, anew func(*group, *member)) {
	g := newGroup(t, "x").byRecord()
	backup := memory.New(g.clock)
	g.bend = func(c *election.Config, s *election.Spec) {
		c.Locks, s.Locks = backup.Store(), byName{backup.Store()}
	}
	before := g.join("m0", "stable", stable)
	after(40 * time.Second)
	before.leave(t) // the backup shows x as released
	var ofHolder *memory.Store
	g.bend = func(c *election.Config, s *election.Spec) {
		ofHolder = g.realm.Store()
		s.Locks = byName{ofHolder}
	}
	holder := g.join("m2", "stable", stable)
	after(200 * time.Second)
	g.wantLeader("x", holder, holder)

	sessions := &restoring{backup: backup.Store(), done: make(chan struct{})}
	sessions.now.Store(g.realm.Store())
	locks := &restoring{backup: backup.Store(), done: make(chan struct{})}
	present := g.realm.Store()
	locks.now.Store(present)
	g.bend = func(c *election.Config, s *election.Spec) { c.Locks, s.Locks = sessions, restoringNamed{locks} }
	m1 := g.join("m1", "stable", stable)
	after(60 * time.Second)
	present.On(memory.List, memory.Hang())
	anew(g, m1)
	after(3 * time.Second)
	hangAll(holder.store)
	hangAll(ofHolder)
	holder.store.CutWatches()
	ofHolder.CutWatches()
	sessions.backup.On(memory.List, memory.Delay(4*time.Second))
	sessions.restore()
	locks.restore()
	after(60 * time.Second)
	m1.leave(t)
	holder.store.Heal()
	ofHolder.Heal()
	holder.leave(t)
	for _, o := range g.judge.overlapsOnly() {
		t.Error(o)
	}
}

// seen is a store whose next bookmark is of the revision ahead; zero for the true one. It lives up to the moment before a restore.
type seen struct {
	*memory.Store
	ahead atomic.Uint64
}

func (s *seen) Watch(ctx context.Context, deliver func(lock.Event)) error {
	return s.Store.Watch(ctx, func(e lock.Event) {
		if to := s.ahead.Load(); e.Kind == lock.Progressed && to != 0 {
			e.Revision = to
		}
		deliver(e)
	})
}

// TestNobodyReleasesInARestoredStore has a member come back to a store that was set back to before others took its lock, whose
// present holder is cut off. It checks rule newer-by-version: that member releases nothing there, since a member that knows nothing of
// the restore would take the lock at once.
func TestNobodyReleasesInARestoredStore(t *testing.T) {
	inBubble(t, comesBackAfterARestore)
}

func comesBackAfterARestore(t *testing.T) {
	g := newGroup(t, "x")
	backup := memory.New(g.clock)
	former := &seen{Store: backup.Store()}
	g.bend = func(c *election.Config, _ *election.Spec) { c.Locks = former }
	m1 := g.join("m1", "stable", stable)
	after(40 * time.Second)
	g.wantLeader("x", m1, m1)
	g.bend, g.names = nil, nil
	holder := g.join("m2", "stable", stable)
	after(60 * time.Second)

	former.On(memory.Put, memory.Hang())
	former.ahead.Store(10_000)
	backup.Progress()
	after(time.Second)
	former.ahead.Store(0)
	hangAll(former.Store)
	former.CutWatches()
	after(18 * time.Second)
	status, err := holder.manager.Add(election.Spec{Name: "x"}, g.judge.runner("m2", 0))
	if err != nil {
		t.Fatal(err)
	}
	after(2 * time.Second)
	if !status.IsLeader() {
		t.Fatal("the lock was not taken over")
	}

	hangAll(holder.store)
	holder.store.CutWatches()
	former.Heal()
	g.names = []string{"x"}
	g.bend = func(c *election.Config, _ *election.Spec) { c.Locks = backup.Store() }
	m3 := g.join("m3", "stable", stable)
	after(60 * time.Second)
	if got := leaders(m1, m3)["x"]; len(got) != 1 {
		t.Errorf("it is led by %v, want one of those that see it", got)
	}
	holder.store.Heal()
	m1.leave(t)
	m3.leave(t)
	holder.leave(t)
	for _, o := range g.judge.overlapsOnly() {
		t.Error(o)
	}
}
