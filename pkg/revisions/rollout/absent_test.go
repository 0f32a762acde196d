package rollout

import (
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestAbsent(t *testing.T) {
	t.Run("stay", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(100)))
		w.ready["e1"], w.ready["e2"] = false, false
		w.look()
		w.want(Progressing, 1, 2)
		if got := w.plan.Status.Absent; !slices.Equal(got, []string{"e1", "e2"}) {
			t.Errorf("absent %v", got)
		}
		w.round()
		w.round()
		w.want(Promoted, 1, 3)
		w.ready["e1"] = true
		w.look()
		w.want(Promoted, 1, 4)
		w.byDefault = record.Prefer("green")
		w.look()
		w.want(Promoted, 1, 4) // e1 is on its way
		w.round()
		w.want(Complete, 1, 5)
	})
	t.Run("wait", func(t *testing.T) {
		spec := specOf(weigh(50), weigh(100))
		spec.WhenPreferredAbsent = Wait
		w := newWorld(t, 4, spec)
		w.round()
		w.want(Progressing, 2, 4)
		w.onlyOwn()
		w.round()
		w.now = w.now.Add(time.Hour)
		w.look()
		w.want(Progressing, 2, 4) // the controller's own election waits for the others
		for name := range w.ready {
			w.ready[name] = true
		}
		w.round()
		w.round()
		w.want(Promoted, 2, 5)
	})
	t.Run("wait at the first step", func(t *testing.T) {
		spec := specOf(weigh(50), weigh(100))
		spec.WhenPreferredAbsent = Wait
		w := newWorld(t, 4, spec)
		for name := range w.ready {
			w.ready[name] = false
		}
		w.round()
		w.now = w.now.Add(time.Hour)
		w.look()
		w.want(Progressing, 1, 0)
	})
	t.Run("roll back", func(t *testing.T) {
		spec := specOf(weigh(50), weigh(100))
		spec.WhenPreferredAbsent = RollbackWhenAbsent
		w := newWorld(t, 4, spec)
		w.look()
		w.want(Progressing, 1, 2)
		for _, name := range elections(4) {
			if !slices.Contains(w.canarys(), name) && name != own {
				w.ready[name] = false
			}
		}
		w.obey()
		w.look() // the next step needs ready members
		w.want(RolledBack, 2, 0)
	})
	t.Run("a member of the canary lives, but is ready for no election with a program", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(25), weigh(100)))
		w.onlyOwn()
		w.stays, w.byDefault = true, record.Prefer("green")
		for range 3 {
			w.round()
			w.now = w.now.Add(time.Hour)
		}
		w.want(Progressing, 1, 0)
	})
	t.Run("it leads the only election that is pinned to it", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(100)))
		w.onlyOwn()
		w.stays, w.leads["e0"] = true, "green"
		w.say(func(p Plan) (Plan, error) { return p.PinTo(Pin{Election: "e0", Revision: "green"}) })
		w.round()
		w.now = w.now.Add(time.Hour)
		w.round()
		w.want(Progressing, 1, 1) // neither the pin nor the controller's own election shows what the canary is worth
	})
	t.Run("all other elections are pinned", func(t *testing.T) {
		w := newWorld(t, 2, specOf(weigh(100)))
		for _, name := range []string{"e0", "e1"} {
			w.say(func(p Plan) (Plan, error) { return p.PinTo(Pin{Election: name, Revision: "red"}) })
		}
		w.round()
		w.round()
		w.want(Promoted, 1, 1) // the rollout moves the controller's own election alone
	})
	t.Run("the canary leaves before the last step", func(t *testing.T) {
		w := newWorld(t, 4, specOf(Step{Elections: []string{"e0"}}, pause(time.Minute), weigh(100)))
		w.round()
		w.want(Paused, 2, 1)
		clear(w.ready) // its member leaves: it leads until its work has stopped
		w.now = w.now.Add(time.Hour)
		w.look()
		w.want(Progressing, 3, 1)
		w.leads["e0"] = ""
		w.byDefault = record.Prefer("green")
		w.round()
		w.want(Progressing, 3, 1)
	})
	t.Run("all members of the canary die in the middle of a step", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(50), pause(0), weigh(100)))
		w.look()
		for name := range w.ready {
			w.ready[name] = false
		}
		w.round()
		w.want(Progressing, 1, 2) // without members, nothing shows what the canary is worth
		if len(w.plan.Status.Moving) != 0 || len(w.plan.Status.Absent) != 2 {
			t.Errorf("%+v", *w.plan.Status)
		}
		w.now = w.now.Add(time.Hour)
		for name := range w.ready {
			w.ready[name] = true
		}
		w.look() // the wait for the elections begins again
		if m := w.plan.Status.Moving; len(m) != 2 || !m[0].Since.Equal(w.now) {
			t.Errorf("moving %v", m)
		}
	})
	t.Run("no member of the canary lives during an analysis", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(50), Step{Analysis: &Analysis{For: time.Minute}}, weigh(100)))
		w.round()
		w.round()
		w.want(Analysing, 2, 2)
		for name := range w.ready {
			w.ready[name], w.leads[name] = false, "red"
		}
		for range 4 {
			w.now = w.now.Add(time.Minute)
			w.look()
			w.want(Analysing, 2, 2)
		}
		for name := range w.ready {
			w.ready[name] = true
		}
		w.now = w.now.Add(5 * time.Second)
		w.round()
		w.want(Analysing, 2, 2) // the time begins anew
		w.now = w.now.Add(50 * time.Second)
		w.look()
		w.want(Analysing, 2, 2)
		w.now = w.now.Add(10 * time.Second)
		w.look()
		w.want(Progressing, 3, 4)
	})
	t.Run("no member of the canary lives from a pause on", func(t *testing.T) {
		w := newWorld(t, 4, specOf(weigh(50), pause(time.Minute), weigh(100)))
		w.round()
		w.round()
		w.want(Paused, 2, 2)
		for name := range w.ready {
			w.ready[name], w.leads[name] = false, "red"
		}
		w.now = w.now.Add(time.Hour)
		w.byDefault = record.Prefer("green")
		for range 5 {
			w.round()
		}
		if s := w.plan.Status; s.Phase != Progressing || s.Step != 3 {
			t.Errorf("a canary that is gone is %s, step %d", s.Phase, s.Step)
		}
	})
	t.Run("the holder dies", func(t *testing.T) {
		w := newWorld(t, 2, specOf(weigh(100)))
		w.round()
		w.want(Progressing, 1, 3)
		for name := range w.leads {
			w.leads[name] = ""
		}
		w.look()
		w.want(Progressing, 1, 3)
		if m := w.plan.Status.Moving; len(m) != 3 || w.plan.Status.Moved != 0 {
			t.Errorf("moving %v, moved %d", m, w.plan.Status.Moved)
		}
	})
}

// onlyOwn leaves the canary ready for the controller's own election alone, which has no program.
func (w *world) onlyOwn() {
	for name := range w.ready {
		w.ready[name] = name == own
	}
}
