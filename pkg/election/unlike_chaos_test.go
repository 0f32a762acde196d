package election_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestUnlikeMembers is TestChaos for members that differ in how they watch a lock, in their group, or in
// their timing. If a member has two streams, either may stand still alone.
func TestUnlikeMembers(t *testing.T) {
	seeds := uint64(chaosSeeds)
	if underRace {
		seeds /= 4 // all seeds only without the race detector, which takes ten times as long
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { inBubble(t, func(t *testing.T) { unlikeChaos(t, seed) }) })
	}
}

func unlikeChaos(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	g := newGroup(t, "a", "b")
	g.stop = time.Duration(random.IntN(900)) * time.Millisecond
	var named *memory.Store // of the member that joins
	g.bend = func(c *election.Config, s *election.Spec) {
		c.Log = zap.NewNop()
		quick(c, s)
		switch {
		case seed%4 == 0 && random.IntN(2) == 0:
			named = g.realm.Store()
			s.Locks, s.Foreign.Sharing = byName{named}, machine.SharedWithClientGo
		case seed%4 == 1 && random.IntN(2) == 0:
			c.Group = "edge2"
		case seed%4 > 1 && random.IntN(2) == 0:
			c.Timing.LeaseDuration, c.Timing.Drift = 9*time.Second, 0.02
			if seed%4 == 3 {
				c.Timing, _ = record.Profile(record.DefaultProfile)
			}
		}
	}
	var members, gone []*member
	stores := map[*member][]*memory.Store{}
	join := func(name string) *member {
		named = nil
		m := g.join(name, []string{"stable", "canary"}[random.IntN(2)], stable)
		stores[m] = []*memory.Store{m.store}
		if named != nil {
			stores[m] = append(stores[m], named)
		}
		return m
	}
	for _, name := range []string{"m1", "m2", "m3"} {
		members = append(members, join(name))
	}
	for range 100 {
		after(time.Duration(random.IntN(4000)) * time.Millisecond)
		i := random.IntN(len(members))
		m := members[i]
		of := stores[m][random.IntN(len(stores[m]))]
		switch random.IntN(9) {
		case 0:
			blind(of)
		case 1:
			of.CutWatches()
		case 2, 3:
			for _, s := range stores[m] {
				s.Heal()
			}
		case 4, 5:
			m.stop()
			gone = append(gone, m)
			members[i] = join(m.name)
		case 6:
			g.realm.Edit(slot(m.name), hostileSessionEdit(random))
		case 7:
			for _, m := range members {
				m.prefs.values <- []record.Preferred{stable, canary}[random.IntN(2)]
			}
		default:
			op := []memory.Op{memory.Put, memory.Get, memory.Deliver}[random.IntN(3)]
			of.On(op, fault(random, op))
		}
	}
	for _, all := range stores {
		for _, s := range all {
			s.Heal()
		}
	}
	after(300 * time.Second)
	for _, e := range g.names {
		if l := leaders(members...)[e]; len(l) != 1 {
			t.Errorf("seed %d: in the end %s is led by %v", seed, e, l)
		}
	}
	for _, m := range append(gone, members...) {
		m.leave(t)
	}
	for _, o := range g.judge.overlaps() {
		t.Errorf("seed %d: %s", seed, o)
	}
}
