package election_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/internal/follow"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// pairs says where the two locks of a moving election are: own is the store with the sessions, other has
// objects of another kind.
var pairs = map[string]func(own, other *memory.Store) [2]election.LockRef{
	"two kinds": func(own, other *memory.Store) [2]election.LockRef {
		return [2]election.LockRef{{Lock: "a", Locks: own}, {Lock: "a", Locks: byName{other}}}
	},
	"two names": func(own, _ *memory.Store) [2]election.LockRef {
		return [2]election.LockRef{{Lock: "a", Locks: own}, {Lock: "b", Locks: own}}
	},
	"two names of the other kind": func(_, other *memory.Store) [2]election.LockRef {
		return [2]election.LockRef{{Lock: "a", Locks: byName{other}}, {Lock: "b", Locks: byName{other}}}
	},
}

// roaming is a member of an election that goes from lock to lock.
type roaming struct {
	*member
	g     *group
	locks [2]election.LockRef
}

// roam starts a member without elections.
func (g *group) roam(name, pair string, other *memory.Realm) *roaming {
	m := g.join(name, "stable", stable)
	return &roaming{m, g, pairs[pair](m.store, other.Store())}
}

// has gives the member the election with lock number n, moved from the other lock or not.
func (m *roaming) has(lock int, from ...election.LockRef) {
	m.g.t.Helper()
	spec := election.Spec{Name: "e", Lock: m.locks[lock].Lock, Locks: m.locks[lock].Locks, Bootstrap: machine.BootstrapImmediate}
	for _, f := range from {
		spec.MigrateFrom = &f
	}
	if err := m.manager.Apply(put(election.Entry{Spec: spec, Runner: m.g.judge.runner(m.name, m.g.stop)})); err != nil {
		m.g.t.Fatal(err)
	}
}

// step takes the member one step around: the first lock; the second, moved from the first; the second;
// the first, moved from the second; and so on.
func (m *roaming) step(n int) {
	to := (n + 1) / 2 % 2
	if n%2 == 1 {
		m.has(to, m.locks[1-to])
		return
	}
	m.has(to)
}

// TestTokensRiseOverMovesThereAndBack moves an election from lock to lock and back, with and without
// restarts, whoever leads in between, or nobody. It checks that its tokens rise across all its locks.
func TestTokensRiseOverMovesThereAndBack(t *testing.T) {
	for pair := range pairs {
		t.Run(pair, func(t *testing.T) {
			for seed := range uint64(20) {
				inBubble(t, func(t *testing.T) { moveThereAndBack(t, pair, seed) })
			}
		})
	}
}

func moveThereAndBack(t *testing.T, pair string, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 5))
	g := newGroup(t)
	g.stop = time.Duration(random.IntN(300)) * time.Millisecond
	g.bend = func(c *election.Config, _ *election.Spec) { c.Log = zap.NewNop() }
	other := g.realm.Beside()
	members := []*roaming{g.roam("m1", pair, other), g.roam("m2", pair, other)}
	for n := range 16 {
		for i, m := range members {
			if n > 0 && random.IntN(3) == 0 { // it takes this step by a restart
				m.leave(t)
				members[i] = g.roam(m.name, pair, other)
			}
			members[i].step(n)
		}
		for range random.IntN(20) { // writes that are not ours
			name := fmt.Sprintf("other-%d", random.Uint32())
			_, _ = other.Write(name, record.Record{Group: "else"}, record.Version{})
		}
		// The earlier work has stopped by the end of this; whether a member leads by then is chance.
		after(500*time.Millisecond + time.Duration(random.IntN(2)*random.IntN(20_000))*time.Millisecond)
	}
	after(time.Minute)
	for _, m := range members {
		m.leave(t)
	}
	for _, o := range g.judge.overlaps() {
		t.Errorf("seed %d: %s", seed, o)
	}
	if got := g.judge.terms(); got < 6 {
		t.Errorf("seed %d: %d terms", seed, got)
	}
}

// lieIdle makes a lock that any member may take at once.
func lieIdle(t *testing.T, r *memory.Realm, name string) {
	t.Helper()
	if _, err := r.Write(name, record.Record{Group: "edge", Election: "e"}, record.Version{}); err != nil {
		t.Fatal(err)
	}
}

// idleBeside returns another realm of the group's store. Here and there is a lock "a" that any member may take at once.
func (g *group) idleBeside() *memory.Realm {
	g.t.Helper()
	other := g.realm.Beside()
	lieIdle(g.t, g.realm, "a")
	lieIdle(g.t, other, "a")
	return other
}

// TestAListOfBeforeAnElectionWasAdded checks that members do not take an election's lock because of a
// list that was requested before the election was added: the list may be older than the election's last
// term under another lock.
func TestAListOfBeforeAnElectionWasAdded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m := g.roam("m1", "two names", g.realm.Beside())
		lieIdle(t, g.realm, "b")
		after(20 * time.Second)
		var added, listed, taken atomic.Bool
		m.store.On(memory.List, func(ctx context.Context, c memory.Call, op func() error) error {
			listed.Store(added.Load())
			return memory.DelayReply(2*time.Second)(ctx, c, op)
		})
		m.store.On(memory.Put, memory.Named("b", func(_ context.Context, _ memory.Call, op func() error) error {
			taken.Store(true)
			if !listed.Load() {
				t.Error("taken by a list of before")
			}
			return op()
		}))
		m.store.On(memory.Watch, memory.Once(memory.Reject(follow.ErrExpired)))
		m.store.CutWatches()
		after(time.Second)
		m.has(1)
		added.Store(true)
		after(10 * time.Second)
		if !taken.Load() {
			t.Error("not taken")
		}
		g.end(m.member)
	})
}

// TestTheOldLockGoesOnAboveATermOfBoth kills a member that holds both locks before it has renewed the old
// one. It checks that whoever takes the old lock, and knows nothing of the new one, has a higher token.
func TestTheOldLockGoesOnAboveATermOfBoth(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		other := g.idleBeside()
		m1, m2 := g.roam("m1", "two kinds", other), g.roam("m2", "two kinds", other)
		after(20 * time.Second)
		var taken atomic.Bool
		old := map[*roaming]byName{m1: m1.locks[1].Locks.(byName), m2: m2.locks[1].Locks.(byName)}
		old[m1].On(memory.Put, memory.Named("a", func(ctx context.Context, c memory.Call, op func() error) error {
			if taken.Swap(true) {
				return memory.Hang()(ctx, c, op)
			}
			return memory.DelayReply(50*time.Millisecond)(ctx, c, func() error {
				err := op()
				for i := range 10 { // many other writes come before its answer
					_, _ = g.realm.Write(fmt.Sprintf("other-%d", i), record.Record{Group: "else"}, record.Version{})
				}
				return err
			})
		}))
		old[m1].On(memory.Deliver, memory.Delay(50*time.Millisecond)) // and before the member sees it
		old[m2].On(memory.Put, memory.Reject(lock.ErrDenied))
		m2.has(1)
		after(100 * time.Millisecond) // its list is from before
		m1.has(0, m1.locks[1])
		after(2500 * time.Millisecond)
		g.wantTerms(t, 1)
		g.passOn(t, m1, m2, old)
	})
}

// TestTransitionsHaveTheTokenOfTheTerm checks that while a member holds both locks, what it tells of its term has the token
// that the work has, and not that of one of the locks.
func TestTransitionsHaveTheTokenOfTheTerm(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		other := g.idleBeside()
		m1 := g.roam("m1", "two kinds", other)
		after(20 * time.Second)
		told := m1.manager.Watch(t.Context())
		m1.has(1, m1.locks[0])
		after(time.Second)
		status := m1.manager.Statuses()[0]
		token := status.Token()
		if of := status.Leader().Token; of >= token {
			t.Errorf("this shows nothing: the term has token %d, and the new lock has %d", token, of)
		}
		g.end(m1.member)
		terms := 0
		for tr := range told {
			if tr.Event != election.EventRole {
				continue
			}
			if terms++; tr.Token != token {
				t.Errorf("%v in term %d: the token of the work is %d", tr.Role, tr.Token, token)
			}
		}
		if terms < 3 {
			t.Errorf("%d changes of the role", terms)
		}
		g.wantTerms(t, 1)
	})
}

// TestBothTermsOfAMoveEndTogether has a stranger blank the new lock of a member that holds both. It checks that the member takes
// the old lock anew as well, so that its next term has a token that is new to those who know only the old lock.
func TestBothTermsOfAMoveEndTogether(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		other := g.idleBeside()
		m1 := g.roam("m1", "two kinds", other)
		after(20 * time.Second)
		m1.has(1, m1.locks[0])
		after(10 * time.Second)
		before := g.realm.Read("a").Record
		now := other.Read("a")
		if _, err := other.Write("a", record.Record{Group: "edge", Election: "e"}, now.Version); err != nil {
			t.Fatal(err)
		}
		after(2 * time.Minute)
		if then := g.realm.Read("a").Record; then.Token <= before.Token || then.Holder != before.Holder {
			t.Errorf("%s has the old lock with token %d, and had it with token %d", then.Holder, then.Token, before.Token)
		}
		g.end(m1.member)
		g.wantTerms(t, 2)
	})
}

// passOn cuts one member off, and has the other one lead by the store of its own that failed until now.
func (g *group) passOn(t *testing.T, from, to *roaming, stores map[*roaming]byName) {
	t.Helper()
	hangAll(from.store)
	hangAll(stores[from].Store)
	stores[to].Heal()
	after(time.Minute)
	g.end(to.member)
	from.store.Heal()
	stores[from].Heal()
	g.end(from.member)
	g.wantTerms(t, 2)
}

func (g *group) wantTerms(t *testing.T, want int) {
	t.Helper()
	if got := g.judge.terms(); got != want {
		t.Errorf("%d terms, want %d", got, want)
	}
}

// TestTheNewLockGoesOnAboveATermOfBoth has a stranger blank the old lock of a member while the answer to the member's take
// of the new lock is late. The member takes the old lock anew before that answer. It never renews the new one, and is then cut
// off. The test checks that whoever takes the new lock, and knows nothing of the old one, has a higher token.
func TestTheNewLockGoesOnAboveATermOfBoth(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		other := g.idleBeside()
		m1, m2 := g.roam("m1", "two kinds", other), g.roam("m2", "two kinds", other)
		after(20 * time.Second)
		next := map[*roaming]byName{m1: m1.locks[1].Locks.(byName), m2: m2.locks[1].Locks.(byName)}
		var token, takes atomic.Uint64
		next[m1].On(memory.Put, memory.Named("a", func(ctx context.Context, c memory.Call, op func() error) error {
			switch {
			case token.Swap(uint64(c.Record.Token)) == uint64(c.Record.Token): // a renewal
				return memory.Hang()(ctx, c, op)
			case takes.Add(1) == 1:
				return memory.DelayReply(3*time.Second)(ctx, c, op)
			}
			return op()
		}))
		next[m1].On(memory.Deliver, memory.Named("a", memory.Once(memory.Delay(3*time.Second))))
		next[m2].On(memory.Put, memory.Reject(lock.ErrDenied))
		m2.has(1)
		m1.has(1, m1.locks[0])
		after(2 * time.Second)
		for i := range 10 {
			_, _ = g.realm.Write(fmt.Sprintf("other-%d", i), record.Record{Group: "else"}, record.Version{})
		}
		g.realm.Edit("a", func(o *codec.Object) { o.Fields.Holder = "" })
		after(5 * time.Second)
		g.wantTerms(t, 1)
		g.passOn(t, m1, m2, next)
	})
}
