package election_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// interleavingSeeds are the schedules that TestInterleavings tries.
var interleavingSeeds = []uint64{1, 2, 3, 10, 14}

// TestInterleavings lets every step of a driver fall between any others: it is held up anywhere, while
// elections move from lock to lock, come and go, change their preference and their readiness, and both
// stores fail for one member or another.
func TestInterleavings(t *testing.T) {
	seeds := interleavingSeeds
	if underRace {
		seeds = seeds[:1] // all seeds only without the race detector, which takes ten times as long
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { inBubble(t, func(t *testing.T) { interleavings(t, seed) }) })
	}
}

func profile(name string) record.Timing {
	t, err := record.Profile(name)
	if err != nil {
		panic(err)
	}
	return t
}

func interleavings(t *testing.T, seed uint64) {
	w := interleave(t, seed, 100*time.Millisecond, "stable", "canary")
	own := profile([]string{"fast", "default"}[seed%2])
	differs := profile([]string{"default", "fast"}[seed/2%2])
	names := []string{"s", "r", "m", "k"}
	locks := []string{"s", "r", "m", "m-old", "k", "k-old"}
	specs := func(m *interleavedMember) []election.Spec {
		return []election.Spec{
			{Name: "s", Timing: own},
			{Name: "r", Renewal: record.RenewalRecord, Timing: differs},
			moved(election.Spec{Name: "m", Timing: own}, m.kinds["m"], lockIn{m.store, "m"}, lockIn{m.other, "m-old"}),
			moved(election.Spec{Name: "k", Timing: differs}, m.kinds["k"], lockIn{m.other, "k"}, lockIn{m.store, "k-old"}),
		}
	}
	w.join("m1", map[string]moving{"m": both, "k": both}, specs, own)
	after(40 * time.Second)
	w.join("m2", map[string]moving{"m": both, "k": both}, specs, own)
	w.join("m3", map[string]moving{"m": []moving{oldOnly, newOnly, both}[w.random.IntN(3)], "k": []moving{oldOnly, newOnly, both}[w.random.IntN(3)]}, specs, own)
	after(40 * time.Second)
	often, long := []int{40, 400, 4000}[seed%3], []time.Duration{50, 500, 4000}[w.random.IntN(3)]*time.Millisecond
	for _, m := range w.members {
		m.holdUps(often, long)
	}
	for range 40 {
		after(time.Duration(w.random.IntN(5000)) * time.Millisecond)
		m := w.members[w.random.IntN(len(w.members))]
		switch w.random.IntN(12) {
		case 0:
			p := []record.Preferred{stable, canary}[w.random.IntN(2)]
			for _, m := range w.members {
				m.prefs.values <- p
			}
		case 1:
			s := specs(m)[w.random.IntN(len(names))]
			if !m.away[s.Name] {
				w.again(m, s)
			}
		case 2:
			m.unsaid[names[w.random.IntN(len(names))]] <- []error{nil, errUnready}[w.random.IntN(2)]
		case 3:
			m.stores()[w.random.IntN(2)].CutWatches()
		case 4:
			w.realm.Delete(locks[w.random.IntN(len(locks))])
		case 5, 6:
			for _, s := range m.stores() {
				s.Heal()
			}
		case 7:
			m.clock.once("", holdUp{time.Duration(w.random.IntN(30_000)) * time.Millisecond, w.random.IntN(2) == 0})
			after(30 * time.Second)
			m.holdUps(often, long)
		case 8, 9:
			for _, s := range specs(m) {
				if m.status[s.Name].IsLeader() && w.random.IntN(2) == 0 {
					w.starve(m, s, locksOf(s)[w.random.IntN(len(locksOf(s)))])
					m.holdUps(often, long)
					break
				}
			}
		default:
			m.trouble(locks)
		}
	}
	w.finish(names, specs, 300*time.Second)
	if terms := w.judge.terms(); terms < 8 || terms > 400 {
		t.Errorf("%d terms", terms)
	}
}

// lockIn is a lock object in one of the member's stores.
type lockIn struct {
	store lock.Store
	name  string
}

func locksOf(s election.Spec) []string {
	if s.MigrateFrom == nil {
		return []string{cmp.Or(s.Lock, s.Name)}
	}
	return []string{s.Lock, s.MigrateFrom.Lock}
}

// moved returns s as a member of the given kind configures it.
func moved(s election.Spec, kind moving, to, from lockIn) election.Spec {
	s.Locks, s.Lock = to.store, to.name
	switch kind {
	case oldOnly:
		s.Locks, s.Lock = from.store, from.name
	case both:
		s.MigrateFrom = &election.LockRef{Lock: from.name, Locks: from.store}
	case newOnly:
	}
	return s
}
