package metrics_test

import (
	"context"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
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

// TestAForeignHolder checks that an elector that is not Primacy counts as a leader only where the election is shared with such.
func TestAForeignHolder(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.join("a", "stable", "", nil)
		if _, err := a.Add(election.Spec{
			Name: "shared", Bootstrap: election.BootstrapImmediate, Foreign: election.Foreigners{Sharing: election.SharedWithClientGo},
		}, nil); err != nil {
			t.Fatal(err)
		}
		w.after(10 * time.Second)
		a.is(0, "primacy_elections_leaderless")
		store := w.realm.Store()
		for range 10 {
			for _, name := range []string{"e", "shared"} {
				e, err := store.Get(context.Background(), name)
				if err != nil {
					t.Fatal(err)
				}
				theirs := record.Record{
					Holder: "kube-scheduler", Duration: 15 * time.Second, Acquired: e.Record.Acquired, Renewed: w.clock.Wall(),
					Transitions: e.Record.Transitions + 1, Group: e.Record.Group, Election: e.Record.Election,
				}
				if _, err := store.Put(context.Background(), name, theirs, e.Version); err != nil {
					t.Fatal(err)
				}
			}
			w.after(2 * time.Second)
		}
		a.is(1, "primacy_elections_leaderless")
		if free := a.value("primacy_election_leaderless_seconds", "election=e"); free < 15 {
			t.Errorf("e: %g s without a leader", free)
		}
		a.is(0, "primacy_election_leaderless_seconds", "election=shared")
		a.leave()
	})
}
