package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTargets compares targets with its definition: the least k with 100 k >= n w.
func TestTargets(t *testing.T) {
	for n := range 201 {
		for w := range 101 {
			k := 0
			for 100*k < n*w {
				k++
			}
			if got := targets(n, w); got != k {
				t.Errorf("%d %% of %d is %d, want %d", w, n, got, k)
			}
		}
	}
}

// TestWeightIsExact lets a controller set each weight for each number of elections, and counts the
// elections that members move.
func TestWeightIsExact(t *testing.T) {
	for n := 1; n <= 200; n++ {
		for w := 1 + n%7; w <= 100; w += 7 {
			spec := specOf(weigh(w), pause(0), weigh(100))
			spec.MaxConcurrentMoves = n
			seen := Seen{Own: own}
			for _, name := range elections(n) {
				seen.Elections = append(seen.Elections, Election{Name: name, Canary: "green-0_00000001"})
			}
			reach := Advance(spec, nil, seen, start).Status.Reach
			in := 0
			for _, e := range seen.Elections {
				if reach.Has(uid, e.Name) {
					in++
				}
			}
			if want := (n*w + 99) / 100; in != want {
				t.Fatalf("%d %% of %d elections are %d, want %d", w, n, in, want)
			}
		}
	}
}

// TestGrowingWeightTakesNothingBack checks that elections that a weight has brought into reach stay
// there, whatever happens between the steps.
func TestGrowingWeightTakesNothingBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching("[0-9a-f]{16}").Draw(t, "uid")
		names := rapid.SliceOfNDistinct(rapid.StringMatching("[a-z][a-z0-9]{0,8}"), 1, 60, rapid.ID).Draw(t, "names")
		var ws []int
		for w := range 100 {
			if rapid.IntRange(0, 9).Draw(t, "step") == 0 || w == 99 {
				ws = append(ws, w+1)
			}
		}
		spec := specOf(weights(ws...)...)
		spec.UID = id
		spec.MaxConcurrentMoves = rapid.IntRange(1, 20).Draw(t, "concurrent")
		var last *Status
		in := map[string]bool{}
		for i := range len(ws) * 4 {
			seen := Seen{Own: own, Elections: []Election{{Name: own}}}
			for _, name := range names {
				e := Election{Name: name}
				if rapid.Bool().Draw(t, "ready") {
					e.Canary = "green-0_00000001"
				}
				if in[name] && rapid.Bool().Draw(t, "led") {
					e.Revision = "green"
				}
				seen.Elections = append(seen.Elections, e)
			}
			out := Advance(spec, last, seen, start.Add(time.Duration(i)*spec.AcquireTimeout/3)).Status
			for _, name := range names {
				has := out.Reach.Has(id, name)
				if in[name] && !has {
					t.Fatalf("%s was in reach, and no longer is: %+v", name, out)
				}
				in[name] = has
			}
			last = &out
		}
	})
}

// TestReachHas compares Has with a linear search.
func TestReachHas(t *testing.T) {
	names := rapid.Map(rapid.SliceOfDistinct(rapid.StringMatching("[a-d]{1,3}"), rapid.ID), func(names []string) []string {
		slices.Sort(names)
		return names
	})
	rapid.Check(t, func(t *rapid.T) {
		reach := Reach{UpTo: rapid.SampledFrom([]Rank{0, 1 << 63, lastRank}).Draw(t, "up to"), Names: names.Draw(t, "names"), Except: names.Draw(t, "except")}
		for _, name := range append(names.Draw(t, "others"), append(reach.Names, reach.Except...)...) {
			want := slices.Contains(reach.Names, name) || RankOf(uid, name) <= reach.UpTo && !slices.Contains(reach.Except, name)
			if got := reach.Has(uid, name); got != want {
				t.Fatalf("%+v has %q: %v", reach, name, got)
			}
		}
	})
}

// TestReachIsInOrder checks that Read accepts what a controller writes, in whatever order steps name
// elections and the elections come into reach.
func TestReachIsInOrder(t *testing.T) {
	names := elections(40)
	spec := specOf(Step{Elections: []string{names[7], names[3], names[31]}}, Step{Elections: []string{names[30], names[4]}}, weigh(100))
	w := newWorld(t, len(names), spec)
	for range 6 {
		w.round()
	}
	if reach := w.plan.Status.Reach; len(reach.Names) != 5 || !slices.IsSorted(reach.Names) {
		t.Errorf("%+v", reach)
	}
}

// BenchmarkPreferred measures what a member computes once for each of its elections.
func BenchmarkPreferred(b *testing.B) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("election-%04d", i)
	}
	for _, reach := range []struct {
		list string
		Reach
	}{{"names", Reach{Names: names}}, {"except", Reach{UpTo: lastRank, Except: names}}} {
		b.Run(reach.list, func(b *testing.B) {
			p := planOf(Progressing)
			p.Status.Reach = reach.Reach
			for b.Loop() {
				for _, name := range names {
					p.Preferred(name, blue)
				}
			}
		})
	}
}

// TestRanksAreMixed checks that similar names have distant ranks, and that another uid gives another
// order.
func TestRanksAreMixed(t *testing.T) {
	const n = 4096
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("election-%d", i)
	}
	bit := [64]int{}
	buckets := [16]int{}
	apart := 0
	for i, name := range names {
		r := uint64(RankOf(uid, name))
		for b := range 64 {
			bit[b] += int(r >> b & 1)
		}
		buckets[r>>60]++
		if i > 0 {
			apart += bits.OnesCount64(r ^ uint64(RankOf(uid, names[i-1])))
		}
	}
	for b, ones := range bit {
		if ones < n*45/100 || ones > n*55/100 {
			t.Errorf("bit %d is set in %d of %d ranks", b, ones, n)
		}
	}
	for b, k := range buckets {
		if k < n/16*75/100 || k > n/16*125/100 {
			t.Errorf("%d of %d ranks begin with %x", k, n, b)
		}
	}
	if mean := float64(apart) / (n - 1); mean < 31 || mean > 33 {
		t.Errorf("ranks of neighbours differ in %.1f bits", mean)
	}
	order := func(id string) []string {
		return slices.SortedFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(RankOf(id, a), RankOf(id, b)) })
	}
	same := 0
	one, other := order(uid), order("00c0ffee00c0ffef")
	for _, name := range one[:n/4] {
		if slices.Contains(other[:n/4], name) {
			same++
		}
	}
	if same < n/16*80/100 || same > n/16*120/100 {
		t.Errorf("of the first quarters of two rollouts %d are the same, want about %d", same, n/16)
	}
}

// TestRankStays checks that ranks never change: members of other versions must compute the same rank.
func TestRankStays(t *testing.T) {
	for name, want := range map[string]string{"": "5421a5116e92e2ea", "ingress-status": "c837d8e0b6bf1d67", "a": "c2ac9a71cb138012"} {
		if got := RankOf(uid, name).String(); got != want {
			t.Errorf("rank of %q is %s, want %s", name, got, want)
		}
	}
}

// TestReadyDuringPause checks that an election which an earlier step left out moves once a member of the canary is ready,
// even while the rollout waits in a pause or an analysis, and that no other election moves then.
func TestReadyDuringPause(t *testing.T) {
	for name, wait := range map[string]Step{"pause": pause(0), "analysis": analyse(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 4, specOf(weigh(50), wait, weigh(100)))
			ranked := w.inRank()
			late, later := ranked[0], ranked[1]
			w.ready[late], w.ready[later] = false, false
			for range 3 {
				w.round()
			}
			if w.plan.Status.Step != 2 || len(w.canarys()) != 0 {
				t.Fatalf("step %d, the canary's are %v", w.plan.Status.Step, w.canarys())
			}
			w.ready[late] = true
			for range 3 {
				w.round()
			}
			if w.plan.Status.Step != 2 || !slices.Equal(w.canarys(), []string{late}) || w.leads[late] != "green" {
				t.Errorf("step %d, the canary's are %v; %s is led by %s", w.plan.Status.Step, w.canarys(), late, w.leads[late])
			}
			w.say(Plan.Pause)
			w.ready[later] = true
			w.round()
			if len(w.canarys()) != 1 {
				t.Errorf("paused by an operator, the canary's are %v", w.canarys())
			}
		})
	}
}

// inRank returns the elections in the order in which weights move them.
func (w *world) inRank() []string {
	return slices.SortedFunc(maps.Keys(w.leads), func(a, b string) int {
		if a == own {
			return 1
		} else if b == own {
			return -1
		}
		return cmp.Compare(RankOf(uid, a), RankOf(uid, b))
	})
}
