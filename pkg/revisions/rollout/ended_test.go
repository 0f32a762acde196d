package rollout

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestWhenARolloutEnded checks that the end of a rollout is when it was complete, aborted or rolled back, and not when
// the next one began.
func TestWhenARolloutEnded(t *testing.T) {
	for phase, end := range map[Phase]func(*world){
		Complete: func(w *world) { w.byDefault = record.Prefer("green") },
		Aborted:  func(w *world) { w.say(Plan.Abort) },
	} {
		t.Run(string(phase), func(t *testing.T) {
			w := newWorld(t, 4, specOf(weigh(100)))
			for range 3 {
				w.round()
			}
			if got := w.plan.Ended(); !got.IsZero() {
				t.Errorf("a rollout that goes on ended at %v", got)
			}
			w.now = w.now.Add(time.Minute)
			ended := At(w.now)
			end(w)
			w.look()
			w.now = w.now.Add(time.Hour)
			w.look()
			if got := w.plan.Ended(); w.plan.Phase() != phase || got != ended {
				t.Errorf("%s at %v, ended at %v", w.plan.Phase(), got, ended)
			}
			next := specOf(weigh(100))
			next.UID, next.Canary = "0000000000000001", "blue"
			p, err := w.plan.Start(next, w.now)
			if err != nil || p.History[0].Ended != ended {
				t.Errorf("the history says %+v, %v", p.History, err)
			}
		})
	}
}

// TestAnAbortThatNoControllerSawEnds checks that the end of an abort is unknown until a controller has noted it, and that
// the history then has the time at which the rollout was replaced.
func TestAnAbortThatNoControllerSawEnds(t *testing.T) {
	w := newWorld(t, 4, specOf(weigh(100)))
	w.round()
	w.say(Plan.Abort)
	if got := w.plan.Ended(); !got.IsZero() {
		t.Errorf("ended at %v", got)
	}
	at := w.now.Add(time.Minute)
	if p, err := w.plan.End(at); err != nil || p.History[0].Ended != At(at) {
		t.Errorf("the history says %+v, %v", p.History, err)
	}
}

// TestEnd checks that the word `end` lets elections follow the default again, only after an abort or a rollback.
func TestEnd(t *testing.T) {
	for _, phase := range []Phase{RolledBack, Aborted} {
		before := planOf(phase)
		before.Pins = []Pin{{Election: "web", Member: "m"}}
		p, err := before.End(start)
		if err != nil || p.InForce() || p.Status != nil || len(p.Pins) != 1 {
			t.Fatalf("%s: %v, %+v", phase, err, p)
		}
		if len(p.History) != 1 || p.History[0].How != phase || len(before.History) != 0 {
			t.Errorf("%s: the history says %+v", phase, p.History)
		}
		if got := p.Preferred("other", blue); got != blue {
			t.Errorf("%s: an election prefers %v", phase, got)
		}
		data, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if read, err := Read(data, before); err != nil || read.Rollout != nil || read.InForce() {
			t.Errorf("%s: a member that knew the rollout reads %+v, %v", phase, read, err)
		}
		if _, err := p.End(start); !errors.Is(err, ErrNoRollout) {
			t.Errorf("%s: ended twice: %v", phase, err)
		}
		_, err = before.PromoteStep()
		if err == nil || !strings.Contains(err.Error(), "rollout retry") || !strings.Contains(err.Error(), "rollout end") {
			t.Errorf("%s: promote says %v", phase, err)
		}
	}
	for phase, hint := range map[Phase]string{
		Progressing: "abort it first", Paused: "abort it first", Analysing: "abort it first", Degraded: "abort it first",
		Promoted: "once the default source names its canary", Complete: "already",
	} {
		if p, err := planOf(phase).End(start); err == nil || !strings.Contains(err.Error(), hint) || p.Rollout == nil {
			t.Errorf("%s: %v, want %q", phase, err, hint)
		}
	}
	broken := planOf(Aborted)
	broken.Unreadable = []string{KeyRollout}
	if p, err := broken.End(start); err == nil || p.Rollout == nil {
		t.Errorf("a rollout that cannot be read was ended: %v", err)
	}
}

// TestClockThatWasAhead checks that the rollout and its step begin now if the clock of the controller before was ahead.
// Otherwise new losses of the canary would seem older than the rollout, and no check would count them.
func TestClockThatWasAhead(t *testing.T) {
	w := newWorld(t, 4, specOf(weigh(50), pause(time.Hour), weigh(100)))
	w.now = start.Add(5 * time.Hour)
	w.round()
	w.now = start
	w.look()
	if s := w.plan.Status; s.Began.After(start) || s.StepStarted.After(start) {
		t.Errorf("at %v the rollout began at %v, and its step at %v", start, s.Began, s.StepStarted)
	}
}

// TestEndLeavesNoUnreadableStatus checks that the end of a rollout removes its status, too, where nobody could read that: the status of a
// rollout that is over would refuse every later one.
func TestEndLeavesNoUnreadableStatus(t *testing.T) {
	w := newWorld(t, 4, specOf(weigh(100)))
	w.round()
	w.say(Plan.Abort)
	broken := w.plan
	broken.Status, broken.Unreadable = nil, []string{KeyStatus}
	p, err := broken.End(w.now)
	if err != nil || len(p.Unreadable) > 0 {
		t.Errorf("%v, unreadable %v", err, p.Unreadable)
	}
	if len(broken.Unreadable) != 1 {
		t.Error("the plan before has changed")
	}
}
