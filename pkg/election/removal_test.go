package election_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestRemovedElectionReleasesNothingLater gives up an election whose lock cannot be released. It checks
// rule stop-before-release: nothing stays behind that would release the lock under the work of the
// member's next term.
func TestRemovedElectionReleasesNothingLater(t *testing.T) {
	for round := range 20 {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			m1 := g.join("m1", "stable", stable)
			after(20 * time.Second)
			m1.store.On(memory.Put, memory.Named("a", memory.Hang()))
			if err := m1.manager.Remove(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			status, err := m1.manager.Add(election.Spec{Name: "a"}, g.judge.runner("m1", 0))
			if err != nil {
				t.Fatal(err)
			}
			m2 := g.join("m2", "stable", stable)
			after(3 * time.Second)
			m1.store.Heal()
			after(60 * time.Second)
			if status.Cycle() > 1 || m2.status["a"].Cycle() > 1 {
				t.Errorf("round %d: terms did not last: %d of m1, %d of m2", round, status.Cycle(), m2.status["a"].Cycle())
			}
			m1.leave(t)
			m2.leave(t)
			for _, o := range g.judge.overlaps() {
				t.Errorf("round %d: %s", round, o)
			}
		})
	}
}

// TestAFollowerThatLosesItsSessionComesBackAtOnce checks that a member that follows and loses its session
// comes back at once: it has nothing else to wait for.
func TestAFollowerThatLosesItsSessionComesBackAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(20 * time.Second)
		g.realm.Delete(slot("m2"))
		synctest.Wait()
		if g.realm.Read(slot("m2")).Record == nil {
			t.Error("it has not made a session anew")
		}
		after(20 * time.Second)
		g.end(m2, m1)
	})
}

// TestRemovingAMigration checks that an election that migrates is removed as a whole, and the others go
// on as before: beats extend their terms, a change of the preference moves them, and they are released in
// the end.
func TestRemovingAMigration(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "m", "z")
		old := g.realm.Beside()
		g.stop = 200 * time.Millisecond
		g.differ = func(s *election.Spec) {
			if s.Name == "m" {
				s.MigrateFrom = &election.LockRef{Lock: "m", Locks: old.Store()}
			}
		}
		m1 := g.join("m1", "stable", stable)
		after(time.Minute)
		m2 := g.join("m2", "canary", stable)
		after(20 * time.Second)
		for _, m := range []*member{m2, m1} {
			since, works := time.Now(), m.status["m"].IsLeader()
			if err := m.manager.Remove(t.Context(), "m"); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(since); took != 0 && !works || took > g.stop {
				t.Errorf("%s: it took %v to remove the election, whose work stops in %v (led: %v)", m.name, took, g.stop, works)
			}
		}
		after(time.Minute)
		for _, prefer := range []struct {
			what election.Preference
			by   *member
		}{{stable, m1}, {canary, m2}, {stable, m1}} {
			for _, m := range []*member{m1, m2} {
				m.prefs.values <- prefer.what
			}
			after(time.Minute)
			for _, e := range []string{"a", "z"} {
				if led := leaders(m1, m2)[e]; len(led) != 1 || led[0] != prefer.by.name {
					t.Errorf("%s is led by %v, want %s", e, led, prefer.by.name)
				}
			}
		}
		g.end(m1, m2)
	})
}
