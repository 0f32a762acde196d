package election_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// outageSeeds is how many schedules TestOutagesOfAll tries.
const outageSeeds = 18

// TestOutagesOfAll takes the store away from all members alike, again and again, for up to some
// leaseDurations: it refuses requests, or does not answer and carries them out later. Elections are
// given up and taken up meanwhile. A term that fails open always goes on: its holder writes first, and
// nothing else ends it.
func TestOutagesOfAll(t *testing.T) {
	seeds := uint64(outageSeeds)
	if underRace {
		seeds = 1 // all seeds only without the race detector, which takes ten times as long
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { inBubble(t, func(t *testing.T) { outagesOfAll(t, seed) }) })
	}
}

func outagesOfAll(t *testing.T, seed uint64) {
	w := interleave(t, seed, time.Second, "stable")
	// The session's timing, and those of the elections: the same, slower and faster.
	own := profile([]string{"default", "fast"}[seed%2])
	differs := profile([]string{"relaxed", "default", "fast"}[seed/2%3])
	open := machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
	specs := func(m *interleavedMember) []election.Spec {
		return []election.Spec{
			{Name: "ol", Timing: own, Outage: open},
			{Name: "oc", Timing: own, Outage: open, Locks: m.other, Lock: "oc"},
			{Name: "dl", Timing: differs, Outage: open},
			{Name: "dc", Timing: differs, Outage: open, Locks: m.other, Lock: "dc"},
			{Name: "s", Timing: own},
			{Name: "r", Timing: differs, Renewal: record.RenewalRecord},
			moved(election.Spec{Name: "m", Timing: own}, both, lockIn{m.store, "m"}, lockIn{m.other, "m-old"}),
		}
	}
	untouched, names := []string{"ol", "oc", "dl", "dc"}, []string{"ol", "oc", "dl", "dc", "s", "r", "m"}
	patience := 3 * max(own.LeaseDuration, differs.LeaseDuration)
	for _, name := range []string{"m1", "m2", "m3"} {
		w.join(name, nil, specs, own)
		if name == "m1" {
			after(patience)
		}
	}
	after(patience)
	for _, m := range w.members {
		m.holdUps(400, 100*time.Millisecond)
	}
	for range 6 {
		away := time.Duration(w.random.Int64N(int64(3 * max(own.LeaseDuration, differs.LeaseDuration))))
		end := w.outage(away)
		for range w.random.IntN(4) {
			m := w.members[w.random.IntN(len(w.members))]
			if s := specs(m)[len(untouched)+w.random.IntN(3)]; !m.away[s.Name] {
				w.again(m, s)
			}
		}
		after(away)
		end()
		after(time.Duration(w.random.Int64N(int64(patience))))
		for _, m := range w.members {
			for _, s := range specs(m) {
				if m.away[s.Name] {
					w.again(m, s)
				}
			}
		}
	}
	for _, e := range untouched {
		if n := w.judge.termsOf(e); n != 1 {
			t.Errorf("%s, whose terms fail open, had %d", e, n)
		}
	}
	w.finish(names, specs, 2*patience)
}

// outage takes the store, or a part of it, away from all members until end is called.
func (w *interleaved) outage(long time.Duration) (end func()) {
	back := make(chan struct{})
	silent := w.random.IntN(2) == 0
	what := "all"
	if w.random.IntN(3) == 0 {
		silent, what = true, slices.Sorted(maps.Keys(parts))[w.random.IntN(len(parts))]
	}
	for _, m := range w.members {
		if what != "all" {
			parts[what].on(m.store, m.other.Store, func() memory.Hook {
				return frozen(back, rand.New(rand.NewPCG(w.random.Uint64(), 11)))
			})
			continue
		}
		for _, s := range m.stores() {
			if !silent {
				away(&member{store: s})
				continue
			}
			for _, op := range []memory.Op{memory.Get, memory.Put, memory.List, memory.Watch, memory.Deliver} {
				s.On(op, frozen(back, rand.New(rand.NewPCG(w.random.Uint64(), 11))))
			}
		}
	}
	w.t.Logf("at %v: an outage of %v, of %s, silent: %v", time.Duration(w.clock.Now()).Round(time.Millisecond), long, what, silent)
	return func() {
		close(back)
		for _, m := range w.members {
			for _, s := range m.stores() {
				s.Heal()
			}
		}
	}
}

// frozen is a server that stands still until back is closed. It then carries out what it was asked, in
// any order, also requests whose callers have given up.
func frozen(back <-chan struct{}, random *rand.Rand) memory.Hook {
	var mu sync.Mutex // many requests wait for back
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	late := func() memory.Hook { return memory.Delay(time.Duration(draw(5)) * time.Millisecond) }
	return func(ctx context.Context, c memory.Call, op func() error) error {
		select {
		case <-back:
			return late()(ctx, c, op)
		case <-ctx.Done():
		}
		if draw(2) == 0 {
			go func() { // joined when the synctest bubble ends
				<-back
				_ = late()(context.Background(), c, op)
			}()
		}
		return fmt.Errorf("%w: %w", lock.ErrUnknown, ctx.Err())
	}
}
func (j *judge) termsOf(election string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.spans[election])
}
