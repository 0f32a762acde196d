package locktest

import (
	"context"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// testRemove checks that a store that can remove objects removes only the very version that it was asked to.
func testRemove(t *testing.T, r Realm) {
	s, can := r.Store().(lock.Remover)
	if !can {
		t.Skip("this store removes nothing")
	}
	v1 := mustPut(t, s, name, held(1), record.Version{})
	v2 := mustPut(t, s, name, held(2), v1)
	before := mustGet(t, s, name)
	for _, stale := range []record.Version{v1, {UID: v1.UID, Revision: v2.Revision + 1}, {UID: "00000000-0000-4000-8000-00000000dead", Revision: v2.Revision}} {
		rejected(t, s, before, s.Remove(within(t), name, stale), lock.ErrConflict)
	}
	for _, none := range []record.Version{{}, {UID: v2.UID}, {Revision: v2.Revision}} {
		rejected(t, s, before, s.Remove(within(t), name, none), lock.ErrInvalid)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	gone := make(chan record.Version, 1)
	watching := make(chan error, 1)
	listed := make(chan bool, 1)
	go func() {
		watching <- s.Watch(ctx, func(e lock.Event) {
			switch {
			case e.Kind == lock.Listed:
				listed <- true
			case e.Kind == lock.Changed && e.Entry.Name == name && e.Entry.Absent():
				gone <- e.Entry.Version
			}
		})
	}()
	<-listed
	if err := s.Remove(within(t), name, v2); err != nil {
		t.Fatal(err)
	}
	if v := <-gone; v.Revision <= v2.Revision {
		t.Errorf("the watch shows the absence at revision %d, not after %d", v.Revision, v2.Revision)
	}
	stop()
	if err := <-watching; err != nil {
		t.Error(err)
	}
	absent := mustGet(t, s, name)
	if !absent.Absent() {
		t.Fatal("what was removed is there")
	}
	rejected(t, s, absent, s.Remove(within(t), name, v2), lock.ErrVanished)
}
