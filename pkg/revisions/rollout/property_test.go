package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// drawSteps draws the steps of a valid spec for a group of n elections.
func drawSteps(t *rapid.T, n int) []Step {
	var steps []Step
	names := rapid.Permutation(elections(n)[1:]).Draw(t, "order of names")
	weight := 1
	for range rapid.IntRange(0, 5).Draw(t, "steps") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			if k := rapid.IntRange(0, min(3, len(names))).Draw(t, "named"); k > 0 {
				steps = append(steps, Step{Elections: names[:k]})
				names = names[k:]
			}
		case 1:
			weight = rapid.IntRange(weight, 100).Draw(t, "weight")
			steps = append(steps, weigh(weight))
		case 2:
			steps = append(steps, pause(time.Duration(rapid.IntRange(0, 3).Draw(t, "pause"))*10*time.Second))
		case 3:
			steps = append(steps, analyse(time.Duration(rapid.IntRange(1, 3).Draw(t, "analysis"))*10*time.Second))
		}
	}
	return append(steps, weigh(100))
}

func drawSpec(t *rapid.T, n int) Spec {
	spec := specOf(drawSteps(t, n)...)
	spec.UID = rapid.StringMatching("[0-9a-f]{16}").Draw(t, "uid")
	spec.OnFailure = rapid.SampledFrom([]OnFailure{Rollback, HoldOn}).Draw(t, "on failure")
	spec.WhenPreferredAbsent = rapid.SampledFrom([]WhenAbsent{Stay, Wait, RollbackWhenAbsent}).Draw(t, "when absent")
	spec.MaxConcurrentMoves = rapid.IntRange(1, n+2).Draw(t, "concurrent")
	spec.FailureLimit = rapid.IntRange(0, 2).Draw(t, "limit")
	return spec
}

// allowed is a simple oracle: it returns the elections that may prefer the canary in a step, in a
// group that gains no elections.
func allowed(spec Spec, names []string, step int) map[string]bool {
	ranked := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == own })
	slices.SortFunc(ranked, func(a, b string) int { return cmp.Compare(RankOf(spec.UID, a), RankOf(spec.UID, b)) })
	may := map[string]bool{}
	for _, s := range spec.Steps[:step] {
		for _, name := range s.Elections {
			may[name] = true
		}
		for i, name := range ranked {
			if 100*i < len(ranked)*s.SetWeight { // the first i are fewer than the weight demands
				may[name] = true
			}
		}
	}
	if step == len(spec.Steps) {
		may[own] = true
	}
	return may
}

// judge checks that the stored plan keeps the promises of a rollout.
type judge struct {
	attempt int
	reached map[string]bool // the elections that were the canary's in this attempt
	moved   bool            // whether the controller's own election has come into reach
	phase   Phase           // at the last look
}

func (j *judge) look(w *world) {
	p := w.plan
	spec, phase := *p.Rollout, p.Phase()
	names := slices.Sorted(maps.Keys(w.leads))
	if j.reached == nil || j.attempt != spec.Retry {
		*j = judge{attempt: spec.Retry, reached: map[string]bool{}}
	}
	// A rollout ends well only while a member of the canary is ready, unless an operator said so.
	promoted := spec.Promote != nil && (spec.Promote.Full || spec.Promote.Step >= p.Status.Step)
	unmoved := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, pinned := p.Pin(name)
		return pinned || w.leads[name] == spec.Canary
	})
	if passed := phase == Promoted || phase == Complete; passed && phase != j.phase && !w.anyReady() && len(unmoved) > 0 && !promoted {
		w.t.Fatalf("%s, though no member of the canary is ready for %v", phase, unmoved)
	}
	j.phase = phase
	canarys := map[string]bool{}
	for _, name := range names {
		_, pinned := p.Pin(name)
		canarys[name] = !pinned && p.Preferred(name, w.byDefault).Revision == spec.Canary
	}
	switch {
	case phase == Complete:
		return
	case phase == Pending || phase.Blocks():
		for _, name := range names {
			if canarys[name] {
				w.t.Fatalf("%s, and %s prefers the canary", phase, name)
			}
		}
		return
	}
	may := allowed(spec, names, p.Status.Step)
	for _, name := range names {
		switch _, pinned := p.Pin(name); {
		case canarys[name] && !may[name]:
			w.t.Fatalf("%s prefers the canary before its step: step %d of %+v", name, p.Status.Step, spec.Steps)
		case !canarys[name] && j.reached[name] && !pinned:
			w.t.Fatalf("%s was the canary's and is taken back though the rollout is %s", name, phase)
		}
		j.reached[name] = j.reached[name] || canarys[name]
	}
	for _, e := range w.out.Events {
		if e.Kind == Reached {
			j.concurrency(w, e.Elections)
		}
	}
}

// concurrency checks, after reach has grown, that not too many elections move at a time.
func (j *judge) concurrency(w *world, reached []string) {
	moving, grew := 0, 0
	for _, m := range w.plan.Status.Moving {
		if w.now.Sub(m.Since.Time) < w.plan.Rollout.AcquireTimeout {
			moving++
		}
		if slices.Contains(reached, m.Election) {
			grew++
		}
	}
	if most := w.plan.Rollout.MaxConcurrentMoves; grew > 0 && moving > most {
		w.t.Fatalf("%d elections come into reach and then %d are on the move, at most %d may be", grew, moving, most)
	}
	if slices.Contains(reached, own) && !j.moved {
		j.moved = true
		for _, m := range w.plan.Status.Moving {
			if m.Election != own && w.now.Sub(m.Since.Time) < w.plan.Rollout.AcquireTimeout {
				w.t.Fatalf("the controller's own election moves while %s does", m.Election)
			}
		}
	}
}

// TestSchedules plays commands of operators, members that come and go, failures, and controllers that
// die, in any order. Then all trouble ends, and the rollout must complete.
func TestSchedules(t *testing.T) {
	ends := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "elections")
		w := newWorld(t, n, drawSpec(t, n))
		names := slices.Sorted(maps.Keys(w.leads))
		some := rapid.SampledFrom(names)
		var j judge
		speak := func(word func(Plan) (Plan, error)) {
			if p, err := word(w.plan); err == nil {
				w.store(p)
			}
			w.out = Next{} // a command brings nothing into reach
			j.look(w)
		}
		look := func() { w.look(); j.look(w) }
		for range rapid.IntRange(0, 40).Draw(t, "acts") {
			name := some.Draw(t, "election")
			switch rapid.IntRange(0, 20).Draw(t, "act") {
			case 0:
				w.ready[name] = !w.ready[name]
			case 1:
				if w.leads[name] = ""; !w.ready[name] {
					w.leads[name] = "red"
				}
			case 2:
				if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
					w.failures = append(w.failures, Failure{Check: "runners", Election: name, What: "failed"})
				} else {
					w.failures = nil
				}
			case 3:
				speak(Plan.PromoteStep)
			case 4:
				speak(rapid.SampledFrom([]func(Plan) (Plan, error){Plan.Abort, Plan.Pause, Plan.PromoteFull, Plan.Resume}).Draw(t, "word"))
			case 5:
				speak(Plan.Retry)
			case 6:
				speak(func(p Plan) (Plan, error) { return p.PinTo(Pin{Election: name, Revision: "red"}) })
			case 7:
				speak(func(p Plan) (Plan, error) { return p.Unpin(name) })
			case 8:
				w.byDefault = record.Prefer(rapid.SampledFrom([]string{"", "red", "green", "blue"}).Draw(t, "default"))
			case 9:
				w.now = w.now.Add(time.Duration(rapid.IntRange(-90, 90).Draw(t, "seconds")) * time.Second)
			case 10: // a controller that sees nothing yet
				out := Advance(*w.plan.Rollout, w.plan.Status, Seen{Own: own}, w.now)
				if w.plan.Status.Of(w.plan.Rollout) {
					p := w.plan
					p.Status = &out.Status
					w.store(p)
				}
				w.out = Next{}
				j.look(w)
			case 11: // a controller that dies before it has written
				Advance(*w.plan.Rollout, w.plan.Status, w.seen(), w.now)
			case 12, 13, 14:
				w.obey()
			case 15: // the last ready member of the canary begins to leave
				clear(w.ready)
			default:
				look()
				w.now = w.now.Add(time.Second)
			}
		}
		// From here on there is no trouble.
		w.failures, w.divided = nil, nil
		for _, name := range names {
			w.ready[name] = true
			speak(func(p Plan) (Plan, error) { return p.Unpin(name) })
		}
		look()
		phase := w.plan.Phase()
		ends[string(phase)]++
		if phase == Complete {
			w.byDefault = record.Prefer("green")
			w.obey()
		}
		// Each round moves an election, ends a step, or waits.
		for round := 0; phase != Complete; round++ {
			if round > 10+3*len(names)+3*len(w.plan.Rollout.Steps) {
				w.t.Fatalf("%s in round %d: %+v", phase, round, *w.plan.Status)
			}
			speak(Plan.Resume)
			speak(Plan.Retry)
			if s := w.plan.Status; phase == Paused && s.Of(w.plan.Rollout) && w.plan.Rollout.Steps[s.Step-1].Kind() == StepPause {
				speak(Plan.PromoteStep)
			}
			if phase == Promoted {
				w.byDefault = record.Prefer("green")
			}
			look()
			w.obey()
			w.now = w.now.Add(10 * time.Second)
			look()
			phase = w.plan.Phase()
		}
		for _, name := range names {
			if w.leads[name] != "green" {
				t.Fatalf("complete, and %s is led by %s", name, w.leads[name])
			}
		}
	})
	t.Logf("phases when all became well: %v", ends)
}

// TestAdvanceIsTotal checks that Advance continues from any spec and status, however wrong, without a
// panic, and does not ask to be woken in the past.
func TestAdvanceIsTotal(t *testing.T) {
	number := rapid.SampledFrom([]int{-1 << 40, -1, 0, 1, 2, 50, 100, 101, 1 << 40})
	word := rapid.SampledFrom([]string{"", "red", "green", "e0", "e1", own, "\xff\x00", uid})
	times := rapid.SampledFrom([]Time{{}, At(start), At(start.AddDate(-3000, 0, 0)), At(start.AddDate(5000, 0, 0))})
	durations := rapid.SampledFrom([]time.Duration{-1 << 63, -1, 0, 1, time.Minute, 1<<63 - 1})
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{
			UID: word.Draw(t, "uid"), Stable: word.Draw(t, "stable"), Canary: word.Draw(t, "canary"),
			AcquireTimeout: durations.Draw(t, "timeout"), MaxConcurrentMoves: number.Draw(t, "moves"), FailureLimit: number.Draw(t, "limit"),
			OnFailure: OnFailure(word.Draw(t, "on failure")), WhenPreferredAbsent: rapid.SampledFrom([]WhenAbsent{"", Stay, Wait, RollbackWhenAbsent}).Draw(t, "absent"),
			Abort: rapid.Bool().Draw(t, "abort"), Paused: rapid.Bool().Draw(t, "paused"), Retry: number.Draw(t, "retry"), Forgive: number.Draw(t, "forgive"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			spec.Steps = append(spec.Steps, rapid.SampledFrom([]Step{
				{}, weigh(-5), weigh(50), weigh(100), weigh(1 << 40), {Elections: []string{"e0", "", "gone", own}}, pause(-1), pause(time.Hour), analyse(0),
				{SetWeight: 3, Pause: &Pause{}},
			}).Draw(t, "step"))
		}
		if rapid.Bool().Draw(t, "promote") {
			spec.Promote = &Promote{Step: number.Draw(t, "to"), Full: rapid.Bool().Draw(t, "full")}
		}
		last := &Status{
			UID: spec.UID, Stable: spec.Stable, Canary: spec.Canary, Retry: spec.Retry, Forgive: number.Draw(t, "forgiven"),
			Phase: rapid.SampledFrom(append(phases, "", "No", Pending)).Draw(t, "phase"), Step: number.Draw(t, "at"),
			Began: times.Draw(t, "began"), StepStarted: times.Draw(t, "started"),
			Reach:    Reach{UpTo: Rank(rapid.Uint64().Draw(t, "up to")), Names: []string{word.Draw(t, "name"), "e0", "e0"}, Except: []string{word.Draw(t, "except")}},
			Moving:   []Moving{{word.Draw(t, "moving"), times.Draw(t, "since")}, {"e1", times.Draw(t, "since")}},
			Failures: []Failure{{Check: word.Draw(t, "check")}},
		}
		seen := Seen{Own: own, Default: record.Preferred{State: record.PreferredState(rapid.IntRange(0, 4).Draw(t, "state")), Revision: word.Draw(t, "default")}}
		for _, name := range rapid.SliceOf(rapid.SampledFrom([]string{own, "e0", "e1", "e2", ""})).Draw(t, "elections") {
			seen.Elections = append(seen.Elections, Election{Name: name, Revision: word.Draw(t, "revision"), Canary: word.Draw(t, "ready"), Pinned: rapid.Bool().Draw(t, "pinned")})
		}
		seen.Failures = []Failure{{Check: word.Draw(t, "check"), What: "\xfe\u2028" + fmt.Sprint(number.Draw(t, "what"))}}
		now := times.Draw(t, "now").Time
		for range 3 {
			out := Advance(spec, last, seen, now)
			if !out.Wake.IsZero() && !out.Wake.After(now) {
				t.Fatalf("at %v it wants to be woken at %v", now, out.Wake)
			}
			if spec.Abort && (out.Status.Phase != Aborted || out.Status.Reach.Has(spec.UID, "e0")) {
				t.Fatalf("aborted, yet %+v", out.Status)
			}
			last = &out.Status
		}
	})
}
