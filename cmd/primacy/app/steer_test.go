package app

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/mapstest"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// storing is what operators with the right time stored: a pause and a handover, of ten minutes each.
type storing struct {
	t    *testing.T
	maps *mapstest.Maps
	// members is the time by the members' clocks.
	members time.Time
}

func newStoring(t *testing.T) *storing {
	x := &storing{t, mapstest.New(), time.Now()}
	until := rollout.At(x.members.Add(10 * time.Minute))
	if err := steering.Edit(t.Context(), x.maps, "edge", func(p *rollout.Plan) (err error) {
		if *p, err = p.Stand(rollout.Standstill{At: rollout.At(x.members), Until: until, NoTakeover: true}); err == nil {
			*p, err = p.HandOver(rollout.Handover{Election: "one", To: "old", Until: until})
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return x
}

// stored is the plan as it is stored.
func (x *storing) stored() rollout.Plan {
	x.t.Helper()
	stored, err := steering.Load(x.t.Context(), x.maps, "edge")
	if err != nil {
		x.t.Fatal(err)
	}
	return stored.Plan
}

// command is a command as it stands after it has looked.
func (x *storing) command(out *bytes.Buffer) *steerCommand {
	dry, text := dryRun(false), outputText
	s := &steerCommand{groupCommand: groupCommand{group: "edge", core: x.maps}, ways: &steerWays{yes, &dry, &text}, report: twoRevisions("old", "a")}
	s.report.At = time.Now()
	s.out, s.notes = out, out
	s.take(steering.Stored{Plan: x.stored()})
	return s
}

// TestAFastClockEndsNothing checks that a word from a machine whose clock is fast leaves what others stored, and that what ended
// long ago goes all the same.
func TestAFastClockEndsNothing(t *testing.T) {
	pin := func(p rollout.Plan) (rollout.Plan, error) {
		return p.PinTo(rollout.Pin{Election: "two", Revision: "a"})
	}
	synctest.Test(t, func(t *testing.T) {
		x := newStoring(t)
		time.Sleep(15 * time.Minute) // what the fast clock shows
		s := x.command(new(bytes.Buffer))
		if s.plan.Standstill != nil || len(s.plan.Handovers) > 0 {
			t.Errorf("by this clock it has ended, and the command shows %+v", s.plan)
		}
		if err := s.edit(t.Context(), pin); err != nil {
			t.Fatal(err)
		}
		stored := x.stored()
		if now := stored.At(x.members); now.Standstill == nil || len(now.Handovers) != 1 || len(now.Pins) != 1 {
			t.Errorf("for members there is %+v", now)
		}
		time.Sleep(24 * time.Hour)
		if err := x.command(new(bytes.Buffer)).edit(t.Context(), func(p rollout.Plan) (rollout.Plan, error) { return p.Unpin("two") }); err != nil {
			t.Fatal(err)
		}
		if stored := x.stored(); stored.Standstill != nil || len(stored.Handovers) > 0 {
			t.Errorf("a day later there is still %+v", stored)
		}
	})
}

// TestAFastClockResumes checks that `primacy resume` ends a pause that members count and this machine does not, and says so.
func TestAFastClockResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newStoring(t)
		time.Sleep(15 * time.Minute)
		var out bytes.Buffer
		change := x.command(&out)
		*change.ways.dry = true
		if err := change.resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "resume group edge, whose pause ended at 2000-01-01T00:10:00Z by this machine's clock (not done: --dry-run)\n"; !strings.HasPrefix(got, want) {
			t.Errorf("got %s", got)
		}
		if err := change.edit(t.Context(), rollout.Plan.GoOn); err != nil || x.stored().Standstill != nil {
			t.Errorf("%v; there is %+v", err, x.stored())
		}
		time.Sleep(24 * time.Hour)
		if err := x.command(&out).resume(t.Context()); err == nil || !strings.Contains(err.Error(), "the group is not paused") {
			t.Errorf("a group without a pause is resumed: %v", err)
		}
	})
}

// TestHeardByWhateverClock checks that a member has seen what is stored whether or not it still counts what has ended by this
// machine's clock.
func TestHeardByWhateverClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newStoring(t)
		time.Sleep(15 * time.Minute)
		before := x.stored()
		after, err := before.PinTo(rollout.Pin{Election: "two", Revision: "a"})
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			plan  rollout.Plan
			hears bool
		}{
			"with the pause":                {after, true},
			"without the pause":             {after.At(time.Now()), true},
			"not yet":                       {before, false},
			"not yet and without the pause": {before.At(time.Now()), false},
		} {
			r := status.Report{At: time.Now(), Members: []status.Member{{Group: "edge", Identity: "old_00000001", State: status.Live, Preference: c.plan.Digest(record.Prefer("a"))}}}
			if deaf := unhearing(r, "edge", after); (len(deaf) == 0) != c.hears {
				t.Errorf("%s: not seen by %v", name, deaf)
			}
		}
	})
}

// ponderous is a person who thinks for two minutes, and says yes.
type ponderous struct{ io.Reader }

func (p ponderous) Read(b []byte) (int, error) {
	time.Sleep(2 * time.Minute)
	return p.Reader.Read(b)
}

// TestAPauseEndsBeforeTheAnswer checks that nobody is told that a group is paused if the pause ended while the question was open.
func TestAPauseEndsBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &storing{t, mapstest.New(), time.Now()}
		var out bytes.Buffer
		s := x.command(&out)
		s.ways.confirm = &confirmation{ask: true, in: ponderous{strings.NewReader("y\n")}, out: &out}
		now := time.Now()
		err := s.pause(t.Context(), "pause", rollout.Standstill{At: rollout.At(now), Until: rollout.At(now.Add(time.Minute)), NoTakeover: true})
		if err == nil || !strings.Contains(err.Error(), "would have ended") || x.stored().Standstill != nil || time.Since(now) < time.Minute {
			t.Errorf("got %v after %v, and there is %+v: %s", err, time.Since(now), x.stored(), &out)
		}
	})
}
