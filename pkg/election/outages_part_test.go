package election_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// part says what is away of one kind of lock: operations on all of them, or on some by name.
type part struct {
	ops   []memory.Op
	names []string
}

var (
	writes     = []memory.Op{memory.Put}
	requests   = []memory.Op{memory.Put, memory.Get}
	reads      = []memory.Op{memory.Get, memory.List, memory.Watch, memory.Deliver}
	everything = append([]memory.Op{memory.Put}, reads...)
)

// parted says which operations fail, the same for all members: those on Leases (sessions and locks),
// and those on maps (ConfigMaps, which are locks only).
type parted struct{ leases, maps part }

var parts = map[string]parted{
	"writes of maps":             {maps: part{ops: writes}},
	"writes and reads of maps":   {maps: part{ops: requests}},
	"all of maps":                {maps: part{ops: everything}},
	"reads of maps":              {maps: part{ops: reads}},
	"writes of leases":           {leases: part{ops: writes}},
	"writes and reads of leases": {leases: part{ops: requests}},
	"reads of leases":            {leases: part{ops: reads}},
	"all of leases":              {leases: part{ops: everything}},
	"writes of all":              {part{ops: writes}, part{ops: writes}},
	"writes of some leases":      {leases: part{writes, []string{"l", "ol"}}},
	"writes of some maps":        {maps: part{writes, []string{"c", "dc"}}},
	"some locks, by their names": {part{requests, []string{"l", "ol", "dl"}}, part{requests, []string{"c", "dc", "oc"}}},
}

// on lets hooks answer the operations of a member's two stores that are away.
func (p parted) on(leases, maps *memory.Store, hook func() memory.Hook) {
	for s, p := range map[*memory.Store]part{leases: p.leases, maps: p.maps} {
		for _, op := range p.ops {
			h := hook()
			if p.names != nil {
				h = among(p.names, h)
			}
			s.On(op, h)
		}
	}
}

// among lets the hook act on calls for the names only.
func among(names []string, h memory.Hook) memory.Hook {
	return func(ctx context.Context, c memory.Call, op func() error) error {
		if !slices.Contains(names, c.Name) {
			return op()
		}
		return h(ctx, c, op)
	}
}

// TestOutagesInPart takes a part of the store away from all members alike, for up to some
// leaseDurations. Requests sent meanwhile are carried out when it is back, or never. A term that fails
// open goes on through that.
func TestOutagesInPart(t *testing.T) {
	trials := uint64(6)
	if underRace {
		trials = 1 // all trials only without the race detector, which takes ten times as long
	}
	for name := range parts {
		t.Run(name, func(t *testing.T) {
			for trial := range trials {
				inBubble(t, func(t *testing.T) { outagesInPart(t, name, trial) })
			}
		})
	}
}

func outagesInPart(t *testing.T, name string, trial uint64) {
	random := rand.New(rand.NewPCG(trial, 17))
	g := newGroup(t, "l", "c", "s")
	g.stop = time.Second
	timing := profile([]string{"default", "fast"}[trial%2])
	maps := map[*memory.Store]*memory.Store{} // each member's maps, by its store of leases
	g.bend = func(c *election.Config, s *election.Spec) {
		other := byName{g.realm.Store()}
		maps[c.Locks.(*memory.Store)] = other.Store
		c.Timing = profile([]string{"default", "fast"}[trial/2%2])
		s.Timing, s.Locks = timing, other
	}
	g.differ = func(s *election.Spec) {
		switch s.Name {
		case "s":
			s.Locks = nil
			return
		case "l":
			s.Locks = nil
		}
		s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
	}
	m1 := g.join("m1", "stable", stable)
	after(40 * time.Second)
	all := []*member{m1, g.join("m2", "stable", stable), g.join("m3", "stable", stable)}
	after(20*time.Second + time.Duration(random.IntN(7000))*time.Millisecond)
	for range 3 {
		back := make(chan struct{})
		late := random.IntN(2) == 0
		for _, m := range all {
			parts[name].on(m.store, maps[m.store], func() memory.Hook {
				if late {
					return frozen(back, rand.New(rand.NewPCG(random.Uint64(), 11)))
				}
				return memory.Hang()
			})
		}
		after(time.Duration(random.Int64N(int64(4 * timing.LeaseDuration))))
		for _, m := range all {
			m.store.Heal()
			maps[m.store].Heal()
			after(time.Duration(random.IntN(3)) * time.Millisecond)
		}
		close(back)
		after(3 * timing.LeaseDuration)
	}
	for _, e := range []string{"l", "c"} {
		if s := m1.status[e]; !s.IsLeader() || s.Cycle() != 1 {
			t.Errorf("trial %d: another took %s", trial, e)
		}
	}
	g.end(all...)
}
