package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

func pause(d time.Duration) Step   { return Step{Pause: &Pause{Duration: d}} }
func analyse(d time.Duration) Step { return Step{Analysis: &Analysis{For: d}} }
func weigh(w int) Step             { return Step{SetWeight: w} }

func TestFromStartToComplete(t *testing.T) {
	w := newWorld(t, 9, specOf(Step{Elections: []string{"e3"}}, weigh(30), pause(time.Minute), analyse(2*time.Minute), weigh(100)))
	if got := w.plan.Phase(); got != Pending || len(w.canarys()) != 0 {
		t.Fatalf("%s before a controller looked, canary's %v", got, w.canarys())
	}
	w.look()
	w.want(Progressing, 1, 1)
	if !w.plan.Status.Reach.Has(uid, "e3") {
		t.Error("the election that the step names is not in reach")
	}
	w.look()
	w.want(Progressing, 1, 1) // no member of the canary leads e3 yet
	w.obey()
	w.look()
	w.want(Progressing, 2, len(w.canarys()))
	w.obey()
	w.look()
	w.want(Paused, 3, len(w.canarys()))
	if n := len(w.canarys()); n < 3 || n > 4 { // e3 may be one of the first ceil(9 x 0.3) = 3
		t.Errorf("%d elections at 30 %%", n)
	}
	if want := w.plan.Status.StepStarted.Add(time.Minute); !w.out.Wake.Equal(want) {
		t.Errorf("woken at %v, want %v", w.out.Wake, want)
	}
	w.now = w.now.Add(time.Minute - time.Millisecond)
	w.look()
	w.want(Paused, 3, len(w.canarys()))
	w.now = w.now.Add(time.Millisecond)
	w.look()
	w.want(Analysing, 4, len(w.canarys()))
	w.now = w.now.Add(2 * time.Minute)
	w.look()
	w.want(Progressing, 5, 9)
	w.obey()
	w.look()
	w.want(Progressing, 5, 10) // the tenth is the controller's own
	w.obey()
	w.look()
	w.want(Promoted, 5, 10)
	w.byDefault, w.divided = record.Prefer("green"), []string{"red-1_00000001"}
	w.look()
	w.want(Promoted, 5, 10) // a member does not see this preference yet
	w.divided = nil
	w.look()
	w.want(Complete, 5, 10)
	if w.plan.InForce() || w.plan.Digest(w.byDefault) != "green" {
		t.Error("a complete rollout is in force")
	}
	w.byDefault = record.Prefer("blue")
	w.look()
	w.want(Complete, 5, 0)
}

func TestConcurrentMoves(t *testing.T) {
	spec := specOf(weigh(100))
	spec.MaxConcurrentMoves = 3
	w := newWorld(t, 10, spec)
	for n := 3; n <= 9; n += 3 {
		w.look()
		w.want(Progressing, 1, n)
		w.look()
		w.want(Progressing, 1, n)
		w.obey()
	}
	w.look()
	w.want(Progressing, 1, 10)
	if slices.Contains(w.canarys(), own) {
		t.Fatal("the controller's own election moves before the others have moved")
	}
	w.round()
	w.want(Progressing, 1, 11)
}

func TestPauses(t *testing.T) {
	t.Run("until promoted", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(50), pause(0), weigh(100)))
		w.round()
		w.want(Paused, 2, 2)
		if !w.out.Wake.IsZero() {
			t.Errorf("woken at %v", w.out.Wake)
		}
		w.now = w.now.Add(1000 * time.Hour)
		w.look()
		w.want(Paused, 2, 2)
		w.say(Plan.PromoteStep)
		w.look()
		w.want(Progressing, 3, 4)
	})
	t.Run("a stored start is gone on from", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(50), pause(time.Hour), weigh(100)))
		w.round()
		w.want(Paused, 2, 2)
		w.now = w.now.Add(30 * time.Minute) // all controllers are dead meanwhile
		w.look()
		w.want(Paused, 2, 2)
		w.now = w.now.Add(30 * time.Minute)
		w.look()
		w.want(Progressing, 3, 4)
	})
	t.Run("a clock that is behind", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(50), pause(time.Hour), weigh(100)))
		w.round()
		w.want(Paused, 2, 2)
		w.now = w.now.Add(-24 * time.Hour)
		w.look()
		w.now = w.now.Add(time.Hour)
		w.look()
		w.want(Progressing, 3, 4)
	})
	t.Run("by an operator", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(50), weigh(100)))
		w.say(Plan.Pause)
		w.look()
		w.want(Paused, 1, 0)
		w.say(Plan.Resume)
		w.look()
		w.want(Progressing, 1, 2)
		w.say(Plan.Pause)
		w.round()
		w.want(Paused, 1, 2)
		w.failures = []Failure{{Check: "runners", Election: "e0", What: "x"}}
		w.look()
		w.want(RolledBack, 1, 0) // checks count during a pause
	})
}

func TestPromote(t *testing.T) {
	t.Run("a step whose elections do not come", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(50), pause(0), weigh(100)))
		w.look()
		w.want(Progressing, 1, 2)
		w.say(Plan.PromoteStep)
		w.look()
		w.want(Paused, 2, 2)
		w.look()
		w.want(Paused, 2, 2) // one command passes one step
	})
	t.Run("full", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(25), pause(0), analyse(time.Hour), weigh(50), pause(0), weigh(100)))
		w.round()
		w.want(Paused, 2, 1)
		w.say(Plan.PromoteFull)
		w.look()
		w.want(Progressing, 6, 4)
		w.round()
		w.round()
		w.want(Promoted, 6, 5)
	})
	t.Run("full, and checks go on", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(25), weigh(100)))
		w.look()
		w.say(Plan.PromoteFull)
		w.look()
		w.failures = []Failure{{Check: "runners", Election: "e0", What: "x"}}
		w.look()
		w.want(RolledBack, 2, 0)
	})
	t.Run("the last step", func(t *testing.T) {
		spec := specOf(weigh(100))
		spec.WhenPreferredAbsent = Wait
		w := newWorld(t, 4, spec)
		w.ready["e1"] = false
		w.round()
		w.want(Progressing, 1, 3)
		w.say(Plan.PromoteStep)
		w.look()
		w.want(Promoted, 1, 4) // with the controller's own
		w.ready["e1"] = true
		w.look()
		w.want(Promoted, 1, 5)
	})
}

func TestFailures(t *testing.T) {
	fail := func(election string) Failure { return Failure{Check: "runners", Election: election, What: "failed"} }
	t.Run("limit", func(t *testing.T) {
		spec := specOf(weigh(50), pause(0), weigh(100))
		spec.FailureLimit = 2
		w := newWorld(t, 4, spec)
		w.round()
		w.failures = []Failure{fail("e0"), fail("e1")}
		w.look()
		w.look() // the same failures are not counted again
		w.want(Paused, 2, 2)
		if n := len(w.plan.Status.Failures); n != 2 {
			t.Errorf("%d failures", n)
		}
		w.failures = append(w.failures, Failure{Check: "flaps", Election: "e1", What: "too"})
		w.look()
		w.want(RolledBack, 2, 0)
		w.failures = nil
		w.byDefault = record.Prefer("green")
		w.round()
		w.want(RolledBack, 2, 0) // the canary stays blocked though it is the default
		if !strings.Contains(w.plan.Status.Message, "flaps, e1: too") {
			t.Errorf("message %q", w.plan.Status.Message)
		}
	})
	t.Run("hold, then go on", func(t *testing.T) {
		spec := specOf(weigh(50), analyse(time.Minute), weigh(100))
		spec.OnFailure = HoldOn
		w := newWorld(t, 4, spec)
		w.round()
		w.want(Analysing, 2, 2)
		w.failures = []Failure{fail("e0")}
		w.look()
		w.want(Degraded, 2, 2)
		w.failures = nil
		w.now = w.now.Add(time.Hour)
		w.look()
		w.want(Degraded, 2, 2)
		if _, err := w.plan.PromoteStep(); err == nil {
			t.Error("a degraded rollout is promoted")
		}
		w.failures = []Failure{fail("e0")} // the same failure, now forgiven
		w.say(Plan.Retry)
		w.look()
		w.want(Progressing, 3, 4)
		w.failures = append(w.failures, fail("e1"))
		w.look()
		w.want(Degraded, 3, 4)
	})
	t.Run("many", func(t *testing.T) {
		spec := specOf(weigh(100))
		spec.OnFailure = HoldOn
		w := newWorld(t, 1, spec)
		for i := range 2 * maxFailures {
			f := fail("e0")
			f.Member = strings.Repeat("x", i)
			w.failures = append(w.failures, f)
		}
		w.look()
		w.want(Degraded, 1, 0)
		if n := len(w.plan.Status.Failures); n != maxFailures {
			t.Errorf("%d failures are stored", n)
		}
		w.say(Plan.Retry)
		w.look()
		w.want(Degraded, 1, 0)
	})
}

func TestAcquireTimeout(t *testing.T) {
	w := newWorld(t, 4, specOf(weigh(50), pause(0), weigh(100)))
	w.look()
	want := w.now.Add(time.Minute)
	if !w.out.Wake.Equal(want) {
		t.Errorf("woken at %v, want %v", w.out.Wake, want)
	}
	w.now = want.Add(-time.Millisecond)
	w.look()
	w.want(Progressing, 1, 2)
	w.now = want
	w.look() // we no longer wait for the elections; a check must say whether that is a failure
	w.want(Paused, 2, 2)
}

func TestAbortAndRetry(t *testing.T) {
	w := newWorld(t, 4, specOf(weigh(50), pause(0), weigh(100)))
	w.round()
	w.say(Plan.Abort)
	if got := w.canarys(); got != nil {
		t.Fatalf("aborted, no controller looked, and %v prefer the canary", got)
	}
	w.look()
	w.want(Aborted, 2, 0)
	if _, err := w.plan.Start(*w.plan.Rollout, w.now); err == nil || !strings.Contains(err.Error(), "retry") {
		t.Errorf("a start of what is blocked: %v", err)
	}
	w.obey()
	w.say(Plan.Retry)
	if got := w.canarys(); got != nil {
		t.Fatalf("retried, no controller looked, and %v prefer the canary", got)
	}
	w.now = w.now.Add(time.Hour)
	w.look()
	w.want(Progressing, 1, 2)
	if !w.plan.Status.Began.Equal(w.now) {
		t.Errorf("began %v", w.plan.Status.Began)
	}
}

// TestAbortThatNoControllerSaw checks that after an abort and a retry nothing of the earlier attempt
// counts, even if no controller saw the abort.
func TestAbortThatNoControllerSaw(t *testing.T) {
	w := newWorld(t, 4, specOf(weigh(50), pause(0), weigh(75), weigh(100)))
	w.round()
	w.say(Plan.PromoteStep)
	w.look()
	w.want(Progressing, 3, 3)
	w.say(Plan.Abort)
	w.obey()
	w.say(Plan.Retry)
	if got := w.canarys(); got != nil {
		t.Fatalf("%v prefer the canary", got)
	}
	w.look()
	w.want(Progressing, 1, 2)
}

func TestElectionsComeAndGo(t *testing.T) {
	w := newWorld(t, 8, specOf(Step{Elections: []string{"e0", "e1"}}, weigh(50), pause(0), weigh(100)))
	delete(w.leads, "e1")
	w.round()
	w.round()
	w.want(Paused, 3, len(w.canarys()))
	before := w.canarys()
	for _, name := range []string{"n0", "n1", "n2", "n3", "n4", "n5"} {
		w.leads[name], w.ready[name] = "red", true
	}
	now := w.canarys() // before a controller has looked
	w.look()
	if !slices.Equal(w.canarys(), now) {
		t.Errorf("a look at a pause changes %v to %v", now, w.canarys())
	}
	for _, name := range before {
		if !slices.Contains(now, name) {
			t.Errorf("%s is taken back because others came", name)
		}
	}
	delete(w.leads, before[0])
	w.say(Plan.PromoteStep)
	for range 3 {
		w.round()
	}
	w.want(Promoted, 4, len(w.leads))
	w.leads["late"], w.ready["late"] = "red", true
	w.want(Promoted, 4, len(w.leads))
}

func TestPinnedElectionsAreLeftAlone(t *testing.T) {
	w := newWorld(t, 4, specOf(weigh(100)))
	w.say(func(p Plan) (Plan, error) { return p.PinTo(Pin{Election: "e1", Revision: "red"}) })
	w.round()
	w.round()
	w.want(Promoted, 1, 4)
}

// TestDefaultChangesInTheMiddle checks that the default decides nothing while a rollout is in force.
func TestDefaultChangesInTheMiddle(t *testing.T) {
	w := newWorld(t, 4, specOf(weigh(50), pause(0), weigh(100)))
	w.round()
	for _, d := range []string{"green", "blue", ""} {
		w.byDefault = record.Prefer(d)
		w.round()
		w.want(Paused, 2, 2)
	}
	w.say(Plan.PromoteStep)
	w.round()
	w.round()
	w.want(Promoted, 3, 5)
	if !strings.Contains(w.plan.Status.Message, "once the default source says green (it says (unset))") {
		t.Errorf("message %q", w.plan.Status.Message)
	}
}
