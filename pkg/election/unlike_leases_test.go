package election_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestUnlikeLeases is TestChaos for members with different leases for the same elections. Reloads change the leases, strangers blank
// and delete the locks, and members are cut off while the next member of their host takes their slot. So often the sessions alone
// tell how long to wait (rule published-before-held).
func TestUnlikeLeases(t *testing.T) {
	seeds := uint64(chaosSeeds)
	if underRace {
		seeds /= 8 // all seeds only without the race detector, which takes ten times as long
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { inBubble(t, func(t *testing.T) { unlikeLeases(t, seed) }) })
	}
}

func unlikeLeases(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 11))
	u := unlike{group: newGroup(t, "a", "b").byRecord(), random: random, members: map[string]*member{}, cutOffAt: map[*member]time.Time{}}
	u.stop = time.Duration(random.IntN(900)) * time.Millisecond
	// Each of the two configurations has its own lease for each election.
	lease := func() time.Duration { return time.Duration([]int{5, 15, 60}[random.IntN(3)]) * time.Second }
	u.files = []map[string]time.Duration{{"a": lease(), "b": lease()}, {"a": lease(), "b": lease()}}
	u.bend = func(c *election.Config, s *election.Spec) {
		quick(c, s)
		s.Timing = c.Timing
		c.Log = zap.NewNop()
		c.Timing, _ = record.Profile([]string{"fast", record.DefaultProfile}[seed%2])
		if u.unshown && c.Locks != nil { // a member begins, and does not reload
			c.Locks.(*memory.Store).On(memory.Put, memory.Named(slot(c.Host), memory.Hang()))
		}
	}
	u.differ = func(s *election.Spec) { s.Timing.LeaseDuration = u.file[s.Name] }
	u.comes("m1")
	u.comes("m2")
	for range 60 {
		after(time.Duration(random.IntN(12000)) * time.Millisecond)
		u.forget()
		host := fmt.Sprint("m", 1+random.IntN(3))
		m, of := u.members[host], u.names[random.IntN(2)]
		if m == nil {
			u.comes(host)
			continue
		}
		switch random.IntN(9) {
		case 0:
			u.cutOff(host)
		case 1:
			u.leaves(host)
		case 2:
			u.loses(of)
		case 3:
			u.reload(m, of, u.files[random.IntN(2)][of])
		case 4:
			m.store.On(memory.Put, memory.Named(slot(host), memory.Hang()))
		case 5:
			m.store.Heal()
		default:
			u.isForgotten(of)
		}
	}
	for _, host := range []string{"m1", "m2", "m3"} {
		if u.members[host] == nil {
			u.comes(host)
		}
		u.members[host].store.Heal()
	}
	after(300 * time.Second)
	for _, e := range u.names {
		if r := u.realm.Read(e).Record; r == nil || r.Holder == "" {
			t.Errorf("seed %d: in the end nobody leads %s: %+v", seed, e, r)
		}
	}
	for _, host := range []string{"m1", "m2", "m3"} {
		u.leaves(host)
	}
	for _, m := range u.gone {
		m.store.Heal()
		m.leave(t)
	}
	for _, o := range u.judge.overlaps() {
		t.Errorf("seed %d: %s", seed, o)
	}
	if terms := u.judge.terms(); terms < 3 {
		t.Errorf("seed %d: %d terms: nothing happened", seed, terms)
	}
}

// unlike is a group of hosts whose members have one of two configurations.
type unlike struct {
	*group
	random  *rand.Rand
	members map[string]*member
	// gone were cut off, in this order.
	gone     []*member
	cutOffAt map[*member]time.Time
	files    []map[string]time.Duration
	// file is the configuration of the member that comes; unshown: it cannot write its session.
	file    map[string]time.Duration
	unshown bool
}

func (u *unlike) comes(host string) {
	u.file, u.unshown = u.files[u.random.IntN(2)], u.random.IntN(5) == 0
	u.members[host] = u.join(host, "stable", stable)
}

func (u *unlike) leaves(host string) {
	m := u.members[host]
	m.store.Heal()
	m.leave(u.t)
	delete(u.members, host)
}

func (u *unlike) cutOff(host string) {
	m := u.members[host]
	hangAll(m.store)
	u.gone, u.cutOffAt[m] = append(u.gone, m), time.Now()
	delete(u.members, host)
}

// forget ends members that were cut off long ago.
func (u *unlike) forget() {
	for len(u.gone) > 0 && time.Since(u.cutOffAt[u.gone[0]]) > 2*time.Minute {
		u.gone[0].store.Heal()
		u.gone[0].leave(u.t)
		u.gone = u.gone[1:]
	}
}

func (u *unlike) loses(lock string) {
	if u.random.IntN(2) == 0 {
		u.blanks(lock)
	} else {
		u.realm.Delete(lock)
	}
}

// isForgotten cuts off the holder of a lock, and has the lock be lost. Perhaps the holder's host comes back before, and perhaps
// nobody stays who saw what the lock said.
func (u *unlike) isForgotten(lock string) {
	r := u.realm.Read(lock).Record
	if r == nil || u.members[record.HostOf(r.Holder)] == nil {
		return
	}
	soon := func() { after(time.Duration(u.random.IntN(4000)) * time.Millisecond) }
	host := record.HostOf(r.Holder)
	if holder := u.members[host]; u.random.IntN(4) == 0 {
		holder.store.On(memory.Put, memory.Named(slot(host), memory.Hang()))
		u.reload(holder, lock, u.files[u.random.IntN(2)][lock])
		after(5 * time.Second)
	}
	u.cutOff(host)
	if u.random.IntN(2) == 0 {
		after(time.Duration(10+u.random.IntN(20)) * time.Second) // until others end its session, or shorter
		u.comes(host)
		soon()
	}
	if u.random.IntN(2) == 0 {
		for _, host := range slices.Sorted(maps.Keys(u.members)) {
			u.leaves(host)
		}
	}
	u.loses(lock)
	soon()
	for _, host := range []string{"m1", "m2", "m3"} {
		if u.members[host] == nil && u.random.IntN(2) == 0 {
			u.comes(host)
		}
	}
}
