package election_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// each prefers certain revisions for some elections, and stable for all others.
type each map[string]record.Preferred

func (e each) Digest() string {
	digest := "each"
	for _, name := range slices.Sorted(maps.Keys(e)) {
		digest += fmt.Sprintf(" %s=%s", name, e[name])
	}
	return digest
}

func (e each) For(name string) record.Preferred {
	if p, said := e[name]; said {
		return p
	}
	return stable
}

// TestPreferencePerElection checks that each election follows its own preferred revision, and no other
// election moves for it.
func TestPreferencePerElection(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		m1, m2 := g.join("m1", "stable", each{}), g.join("m2", "canary", each{})
		after(20 * time.Second)
		for _, next := range []each{{"b": canary}, {"a": canary, "b": canary}, {"a": canary}, {}} {
			m1.prefs.values <- next
			m2.prefs.values <- next
			after(15 * time.Second)
			for _, e := range g.names {
				want := m1
				if next[e] == canary {
					want = m2
				}
				g.wantLeader(e, want, m1, m2)
			}
		}
		m1.leave(t)
		after(time.Second)
		m2.leave(t)
		g.verdict(3 + 4 + 3) // at first; each of the four changes moves one; m1 leaves three to m2
	})
}

// TestPreferenceOfLateElections checks that an election that is added later gets its own preferred
// revision, and so does every election of a member that comes back under a new identity.
func TestPreferenceOfLateElections(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		preferred := each{"late": canary}
		m1 := g.join("m1", "stable", preferred)
		after(20 * time.Second)
		m2 := g.join("m2", "canary", preferred)
		after(5 * time.Second)
		add := func(m *member) {
			status, err := m.manager.Add(election.Spec{Name: "late"}, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
				<-ctx.Done()
				return nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			m.status["late"] = status
		}
		add(m1)
		after(20 * time.Second)
		g.wantLeader("late", m1, m1)
		add(m2)
		after(15 * time.Second)
		g.wantLeader("late", m2, m1, m2)
		g.wantLeader("a", m1, m1, m2)

		before := m2.status["late"].Cycle()
		g.realm.Delete("primacy-edge-m2-0")
		after(15 * time.Minute) // m1 leads meanwhile, until m2 is trusted again
		if m2.status["late"].Cycle() == before {
			t.Error("the canary's session was lost, yet its term was not")
		}
		g.wantLeader("late", m2, m1, m2)
		g.wantLeader("a", m1, m1, m2)
		m1.leave(t)
		m2.leave(t)
	})
}

// TestPreferenceOfOnePiece checks that members that see different preferences move nothing, not even
// elections for which they prefer the same.
func TestPreferenceOfOnePiece(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m1, m2 := g.join("m1", "stable", each{}), g.join("m2", "canary", each{})
		after(20 * time.Second)
		m1.prefs.values <- each{"a": canary}
		m2.prefs.values <- each{"a": canary, "b": canary}
		after(2 * time.Minute)
		for _, e := range g.names {
			g.wantLeader(e, m1, m1, m2)
		}
		m1.prefs.values <- each{"a": canary, "b": canary}
		after(15 * time.Second)
		for _, e := range g.names {
			g.wantLeader(e, m2, m1, m2)
		}
		m2.leave(t)
		m1.leave(t)
	})
}

// TestFlappingPerElection flips a preference every second for a minute. It checks that this moves the
// elections that the preference concerns at most once per minHold, and never the others.
func TestFlappingPerElection(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "flips", "follows", "rests")
		g.bend = func(c *election.Config, _ *election.Spec) {
			c.Timing, _ = record.Profile(record.DefaultProfile)
			c.Timing.PreemptDelay, c.Timing.MinHold = 0, 10*time.Second
		}
		m1, m2 := g.join("m1", "stable", each{}), g.join("m2", "canary", each{})
		after(30 * time.Second)
		before := map[string]int{}
		for _, e := range g.names {
			before[e] = m1.status[e].Cycle() + m2.status[e].Cycle()
		}
		for i := range 60 {
			next := each{"flips": []record.Preferred{canary, stable}[i%2], "follows": canary}
			m1.prefs.values <- next
			m2.prefs.values <- next
			after(time.Second)
		}
		for name, bounds := range map[string][2]int{"flips": {1, 6}, "follows": {1, 1}, "rests": {0, 0}} {
			moves := m1.status[name].Cycle() + m2.status[name].Cycle() - before[name]
			t.Logf("%s: %d moves in 60 s", name, moves)
			if moves < bounds[0] || moves > bounds[1] {
				t.Errorf("%s: %d moves in 60 s with minHold 10s, want %d to %d", name, moves, bounds[0], bounds[1])
			}
		}
		m1.leave(t)
		m2.leave(t)
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
	})
}

// TestOtherWordsLeaveTheLockToNobody checks that a term beside Istio's electors, of a revision that is not preferred, goes on when
// operators say something else: the preferred revision is the same. What they say counts all the same.
func TestOtherWordsLeaveTheLockToNobody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(_ *election.Config, s *election.Spec) { s.Foreign.Sharing = election.SharedWithIstio }
		m1 := g.join("m1", "stable", canary)
		m2 := g.join("m2", "stable", canary)
		tell := func(p record.Preferred) {
			m1.prefs.values <- p
			m2.prefs.values <- p
			after(30 * time.Second)
		}
		after(2 * time.Minute)
		leader, other := m1, m2
		if m2.status["a"].IsLeader() {
			leader, other = m2, m1
		}
		goesOn := func(when string) {
			t.Helper()
			if s := leader.status["a"]; !s.IsLeader() || s.Cycle() != 1 {
				t.Errorf("%s: leads: %v, cycle %d", when, s.IsLeader(), s.Cycle())
			}
		}
		goesOn("at first")
		word := canary
		word.Drained = record.HostsOf("m3")
		tell(word)
		goesOn("another host is drained")
		word.Paused = true
		tell(word)
		goesOn("the group is paused")
		word.NoTakeover = true
		tell(word)
		goesOn("nobody takes locks")
		leader.leave(t)
		after(time.Minute)
		if other.status["a"].IsLeader() {
			t.Error("it takes the lock although nobody should")
		}
		word.NoTakeover = false
		tell(word)
		g.wantLeader("a", other, other)
		third := g.join("m3", "stable", word)
		after(time.Minute)
		g.wantLeader("a", other, other, third)
		word.Paused, word.Drained = false, record.HostsOf(other.name)
		other.prefs.values <- word
		third.prefs.values <- word
		after(time.Minute)
		g.wantLeader("a", third, other, third)
		g.end(other, third)
	})
}

// TestMembersComeInOrderOnceTakeoversAreAllowed checks that a lock whose holder died while nobody took locks goes to whom it would have gone
// to, also if another member hears first that locks may be taken again.
func TestMembersComeInOrderOnceTakeoversAreAllowed(t *testing.T) {
	for _, renewal := range []record.Renewal{record.RenewalRecord, record.RenewalSession} {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			g.renewal = func(string, string) record.Renewal { return renewal }
			m1 := g.join("m1", "canary", canary)
			after(30 * time.Second)
			m3, m2 := g.join("m3", "stable", canary), g.join("m2", "canary", canary)
			after(time.Minute)
			g.wantLeader("a", m1, m1, m2, m3)
			word := canary
			word.Paused, word.NoTakeover = true, true
			for _, m := range []*member{m1, m2, m3} {
				m.prefs.values <- word
			}
			after(time.Second)
			mend := shut(m1.store, all...)
			m1.stop()
			after(time.Minute)
			<-m1.done
			m3.prefs.values <- canary
			after(election.Default().NominateDelay / 2)
			m2.prefs.values <- canary
			m2.leadsSoon(t)
			if n := m3.status["a"].Cycle(); n != 0 {
				t.Errorf("renewed by the %s: the member that comes last led %d times", renewal, n)
			}
			mend()
			g.end(m2, m3)
		})
	}
}

// hungSource is a source of the preferred revision whose disk does not answer before it closes.
type hungSource struct{ disk chan struct{} }

func (h hungSource) Watch(_ context.Context, deliver func(election.Preference)) error {
	<-h.disk
	deliver(canary)
	return nil
}

// TestPreferencesThatHang checks that Run returns soon after its end though the source of the preference hangs, and that
// the log says so.
func TestPreferencesThatHang(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		source := hungSource{make(chan struct{})}
		core, logs := observer.New(zap.ErrorLevel)
		g.bend = func(c *election.Config, _ *election.Spec) { c.Preferences, c.Log = source, zap.New(core) }
		m1 := g.join("m1", "stable", nil)
		after(30 * time.Second)
		g.wantLeader("a", m1, m1)
		m1.stop()
		after(2 * time.Second)
		select {
		case err := <-m1.done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("Run has not returned 2 s after the stop")
		}
		if n := logs.FilterMessageSnippet("its goroutine is left behind").Len(); n != 1 {
			t.Errorf("the log says %d times that a goroutine is left behind, want once: %v", n, logs.All())
		}
		close(source.disk)
		after(time.Second)
	})
}
