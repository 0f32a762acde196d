package election_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// moving are the three kinds of member in a move from an old lock to a new one.
type moving int

const (
	oldOnly moving = iota + 1
	both
	newOnly
)

// joinMoving starts a member that knows the old lock, the new one, or both.
func (g *group) joinMoving(name, revision string, kind moving, old *memory.Realm) (*member, *memory.Store) {
	oldStore := old.Store()
	g.bend = func(c *election.Config, s *election.Spec) {
		c.Log = zap.NewNop()
		switch kind {
		case oldOnly:
			s.Locks = oldStore
		case both:
			s.MigrateFrom = &election.LockRef{Lock: "a", Locks: oldStore}
		case newOnly:
		}
	}
	defer func() { g.bend = nil }()
	return g.join(name, revision, stable), oldStore
}

// TestMigration makes a rolling update from members that know the old lock to members that know both, and
// then to members that know only the new one. It checks that no two members work at once, and that,
// except during handovers, one always works.
func TestMigration(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.stop = 200 * time.Millisecond
		old := g.realm.Beside()
		var members []*member
		led := func(when string) {
			t.Helper()
			after(40 * time.Second)
			if l := leaders(members...)["a"]; len(l) != 1 {
				t.Errorf("%s: a is led by %v", when, l)
			}
		}
		join := func(name string, kind moving) {
			m, _ := g.joinMoving(name, "stable", kind, old)
			members = append(members, m)
		}
		leave := func() {
			members[0].leave(t)
			members = members[1:]
		}
		join("old-1", oldOnly)
		join("old-2", oldOnly)
		led("old members")
		for _, step := range []struct {
			name string
			kind moving
		}{{"both-1", both}, {"both-2", both}, {"new-1", newOnly}, {"new-2", newOnly}} {
			join(step.name, step.kind)
			led("with " + step.name)
			leave()
			led("one gone for " + step.name)
		}
		for _, m := range members {
			m.leave(t)
		}
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
		// By then members of each of the three kinds have led. A lot decides among equals, so more terms
		// are possible.
		if got := g.judge.terms(); got < 3 {
			t.Errorf("%d terms", got)
		}
	})
}

// TestMigrationMovesToTheBetter checks that a better member gets both locks while one member holds both.
func TestMigrationMovesToTheBetter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.stop = 200 * time.Millisecond
		old := g.realm.Beside()
		m1, _ := g.joinMoving("m1", "stable", both, old)
		m2, _ := g.joinMoving("m2", "canary", both, old)
		after(60 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		first := int(m2.status["a"].Cycle()) // both see at the same beat that the wait is over, so m2 may have been first
		m1.prefs.values <- canary
		m2.prefs.values <- canary
		after(20 * time.Second)
		g.wantLeader("a", m2, m1, m2)
		for name, r := range map[string]*memory.Realm{"old": old, "new": g.realm} {
			if holder := r.Read("a").Record.Holder; holder != m2.status["a"].Leader().Identity {
				t.Errorf("the %s lock is held by %q", name, holder)
			}
		}
		m1.leave(t)
		m2.leave(t)
		g.verdict(2 + first)
	})
}

// holdingBoth is a group with one member, which leads a and holds both locks of a migration, and the realm of the old lock.
// Its work takes that long to stop.
func holdingBoth(t *testing.T, stop time.Duration) (g *group, m1 *member, old *memory.Realm) {
	t.Helper()
	g = newGroup(t, "a")
	g.stop = stop
	old = g.realm.Beside()
	m1, _ = g.joinMoving("m1", "stable", both, old)
	after(60 * time.Second)
	g.wantLeader("a", m1, m1)
	return g, m1, old
}

// recovers heals the stores of a migration. It checks that one of the members leads a some time later, and that no two ever
// worked at once. gone are members that have stopped.
func (g *group) recovers(seed uint64, later time.Duration, stores []*memory.Store, members, gone []*member) {
	g.t.Helper()
	for _, s := range stores {
		s.Heal()
	}
	after(later)
	if l := leaders(members...)["a"]; len(l) != 1 {
		g.t.Errorf("seed %d: in the end a is led by %v", seed, l)
	}
	for _, m := range append(gone, members...) {
		m.leave(g.t)
	}
	for _, o := range g.judge.overlapsOnly() {
		g.t.Errorf("seed %d: %s", seed, o)
	}
}

// TestMigrationInChaos runs the members of TestMigration while both stores fail in every way there is.
func TestMigrationInChaos(t *testing.T) {
	for seed := range uint64(20) {
		inBubble(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			g := newGroup(t, "a")
			g.stop = time.Duration(random.IntN(900)) * time.Millisecond
			old := g.realm.Beside()
			var members []*member
			var stores []*memory.Store
			// Members of the first and of the last kind never live at the same time.
			third := []moving{oldOnly, newOnly}[seed%2]
			for name, kind := range map[string]moving{"m1": both, "m2": both, "m3": third} {
				m, oldStore := g.joinMoving(name, "stable", kind, old)
				members = append(members, m)
				stores = append(stores, m.store, oldStore)
			}
			for range 100 {
				after(time.Duration(random.IntN(4000)) * time.Millisecond)
				s := stores[random.IntN(len(stores))]
				switch random.IntN(8) {
				case 0:
					s.CutWatches()
				case 1:
					s.Heal()
				case 2:
					g.realm.Delete("a")
				case 3:
					old.Delete("a")
				case 4:
					[]*memory.Realm{g.realm, old}[random.IntN(2)].Edit("a", hostileEdit(random))
				default:
					op := operation(random)
					s.On(op, fault(random, op))
				}
			}
			g.recovers(seed, 180*time.Second, stores, members, nil)
		})
	}
}
