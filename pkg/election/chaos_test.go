package election_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// chaosSeeds is how many schedules TestChaos tries, and how many more in which elections and members
// come and go.
const chaosSeeds = 40

// TestChaos runs whole managers, with their queues, timers, watches and write pools, in virtual time
// against a store that fails in every way there is, while strangers edit what they may. No member may
// ever work beside another, and once the trouble is over every election is led again.
func TestChaos(t *testing.T) {
	step := uint64(1)
	if underRace {
		step = 5 // all seeds only without the race detector, which takes ten times as long
	}
	for seed := uint64(0); seed < 2*chaosSeeds; seed += step {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { inBubble(t, func(t *testing.T) { chaos(t, seed) }) })
	}
}

func chaos(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	g := newGroup(t, "a", "b")
	kinds := 12
	log := func() *zap.Logger { return zap.NewNop() }
	if seed >= chaosSeeds {
		kinds = 18
		g.names = []string{"a", "m", "b"}
		old := g.realm.Beside()
		g.differ = func(s *election.Spec) {
			if s.Name == "m" {
				s.Renewal, s.MigrateFrom = "", &election.LockRef{Lock: "m", Locks: old.Store()}
			}
		}
		log = func() *zap.Logger { return holdingUp(rand.New(rand.NewPCG(seed, random.Uint64()))) }
	}
	g.bend = func(c *election.Config, _ *election.Spec) {
		c.Log = log()
		if seed%2 == 0 {
			c.Timing, _ = record.Profile("fast")
		}
	}
	// Members of both settings live side by side; in some schedules all members have the same setting.
	settings := []record.Renewal{record.RenewalSession, record.RenewalRecord}
	if seed%4 < 2 {
		settings = settings[:1]
	}
	g.renewal = func(string, string) record.Renewal { return settings[random.IntN(len(settings))] }
	g.stop = time.Duration(random.IntN(900)) * time.Millisecond
	members := []*member{
		g.join("m1", "stable", stable),
		g.join("m2", "stable", stable),
		g.join("m3", "canary", stable),
	}
	var gone []*member
	lacking := map[*member]string{}
	saved := map[string]codec.Object{}
	for range 120 {
		after(time.Duration(random.IntN(4000)) * time.Millisecond)
		i := random.IntN(len(members))
		m := members[i]
		switch random.IntN(kinds) {
		case 10, 16:
			g.realm.Delete(slot(m.name))
		case 11:
			g.realm.Edit(slot(m.name), hostileEdit(random))
		case 12:
			if name := g.names[random.IntN(len(g.names))]; lacking[m] == "" && !g.again(m, name) {
				lacking[m] = name
			}
		case 13:
			m.stop()
			gone = append(gone, m)
			members[i] = g.join(m.name, "stable", stable)
		case 14: // a stranger later puts a saved session back
			if o, exists := g.realm.Raw(slot(m.name)); exists {
				saved[m.name] = o
			}
		case 15:
			g.putBack(slot(m.name), saved[m.name])
		case 17:
			g.realm.Edit(slot(m.name), hostileSessionEdit(random))
		case 0:
			for _, m := range members {
				m.prefs.values <- []record.Preferred{stable, canary}[random.IntN(2)]
			}
		case 1:
			m.store.CutWatches()
		case 2:
			g.realm.Compact()
		case 3:
			g.realm.Delete(g.names[random.IntN(len(g.names))])
		case 4:
			g.realm.Edit(g.names[random.IntN(len(g.names))], hostileEdit(random))
		case 5:
			m.store.Heal()
		default:
			op := operation(random)
			m.store.On(op, fault(random, op))
		}
	}
	for _, m := range gone {
		m.store.Heal()
	}
	for _, m := range members {
		m.store.Heal()
		m.prefs.values <- canary
		if name := lacking[m]; name != "" && !g.again(m, name) {
			t.Errorf("seed %d: %s is still not given up by %s", seed, name, m.name)
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
	if terms := g.judge.terms(); terms < 4 {
		t.Errorf("seed %d: %d terms: nothing happened", seed, terms)
	}
}

// again gives an election up, unless that was done, and takes it up again, as a change of the
// configuration does. It returns false if giving it up takes too long; the member then lacks the
// election.
func (g *group) again(m *member, name string) bool {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := m.manager.Remove(ctx, name); errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	spec := election.Spec{Name: name}
	g.differ(&spec)
	status, err := m.manager.Add(spec, g.judge.runner(m.name, g.stop))
	if err != nil {
		g.t.Error(err)
		return false
	}
	m.status[name] = status
	return true
}

// putBack restores an earlier state of a session, but only under the same incarnation: with another one
// it would rewrite the record consistently, which strangers' edits here never do.
func (g *group) putBack(name string, was codec.Object) {
	now, exists := g.realm.Raw(name)
	if was.Fields.Holder == "" || exists && !strings.Contains(now.Annotations[codec.MemberAnnotation], was.Fields.Holder) {
		return
	}
	g.realm.Edit(name, func(o *codec.Object) { *o = was })
}

// hostileSessionEdit is what else a stranger may do to a session.
func hostileSessionEdit(random *rand.Rand) func(*codec.Object) {
	return func(o *codec.Object) {
		if o.Annotations == nil || o.Labels == nil {
			return // it does not exist
		}
		switch random.IntN(3) {
		case 0:
			o.Labels[lock.GroupLabel] = "another"
		case 1:
			o.Annotations[codec.ClaimAnnotation] = `{"identity":"x","transitions":0,"durationSeconds":15}`
		case 2:
			o.Annotations[codec.HolderAnnotation] = strings.Replace(o.Annotations[codec.HolderAnnotation], `"durationSeconds":`, `"durationSeconds":99`, 1)
		}
	}
}

// hostileEdit is what a stranger with the right to edit may do, short of rewriting the
// record consistently with our annotation.
func hostileEdit(random *rand.Rand) func(*codec.Object) {
	return func(o *codec.Object) {
		switch random.IntN(7) {
		case 6:
			if o.Annotations[codec.TokenAnnotation] != "" {
				o.Annotations[codec.TokenAnnotation] = "1000000000000"
			}
		case 0:
			o.Fields.Holder = ""
		case 1:
			o.Fields.DurationSeconds = 1
		case 2:
			o.Fields.Holder = "m2_01234567"
		case 3:
			o.Annotations[codec.HolderAnnotation] = "{broken"
		case 4:
			delete(o.Annotations, codec.HolderAnnotation)
		case 5:
			o.Annotations["stranger"] = fmt.Sprint(random.Uint64())
		}
	}
}

// operation is one that may fail; writes come up more often.
func operation(random *rand.Rand) memory.Op {
	return []memory.Op{memory.Put, memory.Put, memory.Get, memory.Deliver, memory.List, memory.Watch}[random.IntN(6)]
}

// fault is one way in which an operation can fail.
func fault(random *rand.Rand, op memory.Op) memory.Hook {
	long := time.Duration(random.IntN(30_000)) * time.Millisecond
	if op == memory.Deliver {
		return memory.Delay(long)
	}
	switch random.IntN(6) {
	case 0:
		return memory.Hang()
	case 1:
		return memory.Lose()
	case 2:
		return memory.Delay(long)
	case 3:
		return memory.DelayReply(long)
	case 4:
		return memory.Reject(fmt.Errorf("%w: not today", lock.ErrDenied))
	}
	return memory.Reject(&lock.ThrottledError{RetryAfter: long, Err: lock.ErrThrottled})
}
