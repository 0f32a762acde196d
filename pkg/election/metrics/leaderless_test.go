package metrics_test

import (
	"context"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestLeaderlessInAnOutage checks that members that see nothing know that the term is over.
func TestLeaderlessInAnOutage(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.join("a", "stable", "", nil)
		b := w.join("b", "stable", "", nil)
		a.cutOff()
		b.cutOff()
		w.after(30 * time.Second)
		for name, one := range map[string]*player{"leader": a, "follower": b} {
			if free := one.value("primacy_leaderless_seconds"); !(free >= 30 && free < 40) {
				t.Errorf("%s: %g s without a leader", name, free)
			}
			one.is(1, "primacy_elections_leaderless")
		}
		a.store.Heal()
		b.store.Heal()
		w.after(30 * time.Second)
		b.is(0, "primacy_leaderless_seconds")
		a.leave()
		b.leave()
	})
}

// TestLeaderless checks that the time without a leader grows, and ends.
func TestLeaderless(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.join("a", "stable", "", nil)
		store := w.realm.Store()
		e, err := store.Get(context.Background(), "e")
		if err != nil {
			t.Fatal(err)
		}
		a.store.On(memory.Put, memory.Reject(lock.ErrConflict)) // it sees the blank, and cannot take the lock
		blank := *e.Record
		blank.Holder, blank.Mark = "", nil
		if _, err := store.Put(context.Background(), "e", blank, e.Version); err != nil {
			t.Fatal(err)
		}
		w.after(4 * time.Second)
		a.is(1, "primacy_elections_leaderless")
		if for4 := a.value("primacy_leaderless_seconds"); for4 < 3.9 || for4 > 4.1 {
			t.Errorf("%g s without a leader", for4)
		}
		if of := a.value("primacy_election_leaderless_seconds", "election=e"); of < 3.9 {
			t.Errorf("%g s without a leader", of)
		}
		a.store.Heal()
		w.after(30 * time.Second)
		a.is(0, "primacy_elections_leaderless")
		a.is(0, "primacy_leaderless_seconds")
		a.leave()
	})
}
