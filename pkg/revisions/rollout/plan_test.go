package rollout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

var start = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

const uid = "00c0ffee00c0ffee"

func weights(ws ...int) (steps []Step) {
	for _, w := range ws {
		steps = append(steps, Step{SetWeight: w})
	}
	return steps
}

func specOf(steps ...Step) Spec {
	return Spec{
		UID: uid, Generation: 1, Stable: "red", Canary: "green", StartedAt: At(start), Steps: steps,
		AcquireTimeout: time.Minute,
	}.WithDefaults()
}

// planOf returns a plan with a rollout in the given phase, whose reach is "web" alone.
func planOf(phase Phase) Plan {
	spec := specOf(weights(100)...)
	status := Status{
		UID: uid, Stable: "red", Canary: "green", Generation: 1, Phase: phase, Step: 1,
		Began: At(start), StepStarted: At(start), Reach: Reach{Names: []string{"web"}},
	}
	return Plan{Rollout: &spec, Status: &status}
}

var (
	unsynced = record.Preferred{State: record.PreferredNotSynced}
	blue     = record.Prefer("blue")
)

func TestPreferred(t *testing.T) {
	change := func(p Plan, change func(*Plan)) Plan {
		if p.Rollout != nil {
			spec := *p.Rollout
			p.Rollout = &spec
		}
		change(&p)
		return p
	}
	pin := func(pin Pin) func(*Plan) { return func(p *Plan) { p.Pins = []Pin{pin} } }
	abort := func(p *Plan) { p.Rollout.Abort = true }
	lose := func(keys ...string) func(*Plan) { return func(p *Plan) { p.Unreadable = keys } }
	brokenStatus := func(p *Plan) { p.Status, p.Unreadable = nil, []string{KeyStatus} }

	for _, tt := range []struct {
		name      string
		plan      Plan
		byDefault record.Preferred
		web, db   string
	}{
		{"nothing", Plan{}, blue, "blue", "blue"},
		{"nothing, no default", Plan{}, record.Prefer(""), "(unset)", "(unset)"},
		{"nothing, not synced", Plan{}, unsynced, "(not synced)", "(not synced)"},
		{"default without a state", Plan{}, record.Preferred{}, "(not synced)", "(not synced)"},

		{"pin of a revision", change(Plan{}, pin(Pin{Election: "web", Revision: "red"})), blue, "red", "blue"},
		{"pin of a revision, not synced", change(Plan{}, pin(Pin{Election: "web", Revision: "red"})), unsynced, "(not synced)", "(not synced)"},
		{"pin of a member", change(Plan{}, pin(Pin{Election: "web", Member: "a"})), blue, "blue, pinned to a", "blue"},
		{"pin of a member, no default", change(Plan{}, pin(Pin{Election: "web", Member: "a"})), record.Prefer(""), "(unset), pinned to a", "(unset)"},
		{"pin of a member, not synced", change(Plan{}, pin(Pin{Election: "web", Member: "a"})), unsynced, "(not synced)", "(not synced)"},
		{"pin of a revision before the rollout", change(planOf(Progressing), pin(Pin{Election: "web", Revision: "red"})), blue, "red", "red"},
		{"pin of a member in the rollout", change(planOf(Progressing), pin(Pin{Election: "web", Member: "a"})), blue, "green, pinned to a", "red"},

		{"progressing", planOf(Progressing), blue, "green", "red"},
		{"progressing, no default", planOf(Progressing), record.Prefer(""), "green", "red"},
		{"progressing, not synced", planOf(Progressing), unsynced, "(not synced)", "(not synced)"},
		{"paused", planOf(Paused), blue, "green", "red"},
		{"analysing", planOf(Analysing), blue, "green", "red"},
		{"degraded", planOf(Degraded), blue, "green", "red"},
		{"rolled back", planOf(RolledBack), record.Prefer("green"), "red, not green", "red, not green"},
		{"aborted", planOf(Aborted), record.Prefer("green"), "red, not green", "red, not green"},
		{"promoted", planOf(Promoted), record.Prefer("red"), "green", "red"},
		{"complete", planOf(Complete), record.Prefer("green"), "green", "green"},
		{"complete, then another default", planOf(Complete), blue, "blue", "blue"},

		{"abort needs no controller", change(planOf(Progressing), abort), blue, "red, not green", "red, not green"},
		{"abort of what is promoted", change(planOf(Promoted), abort), record.Prefer("green"), "red, not green", "red, not green"},
		{"abort of what is complete", change(planOf(Complete), abort), record.Prefer("green"), "red, not green", "red, not green"},
		{"retried, and no controller has seen it", change(planOf(Progressing), func(p *Plan) { p.Rollout.Retry = 1 }), blue, "red", "red"},
		{"no status yet", change(planOf(Progressing), func(p *Plan) { p.Status = nil }), record.Prefer("green"), "red", "red"},
		{"status of another rollout", change(planOf(Progressing), func(p *Plan) { p.Rollout.UID = "0000000000000001" }), blue, "red", "red"},
		{"another canary under the same uid", change(planOf(Progressing), func(p *Plan) { p.Rollout.Canary = "blue" }), blue, "red", "red"},
		{"another stable under the same uid", change(planOf(Progressing), func(p *Plan) { p.Rollout.Stable = "black" }), blue, "black", "black"},

		{"broken pins", change(planOf(Progressing), lose(KeyPins)), blue, "(not synced)", "(not synced)"},
		{"broken rollout", Plan{Unreadable: []string{KeyRollout}}, blue, "(not synced)", "(not synced)"},
		{"broken status", change(planOf(Progressing), brokenStatus), blue, "(not synced)", "(not synced)"},
		{"broken status and a pin", change(change(planOf(Progressing), brokenStatus), pin(Pin{Election: "db", Revision: "red"})), blue, "(not synced)", "red"},
		{"broken status and a pinned member", change(change(planOf(Progressing), brokenStatus), pin(Pin{Election: "db", Member: "a"})), blue, "(not synced)", "(not synced)"},
		{"broken status, aborted", change(change(planOf(Progressing), brokenStatus), abort), blue, "red, not green", "red, not green"},
		{"broken status without a rollout", Plan{Unreadable: []string{KeyStatus}}, blue, "blue", "blue"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.plan.Preferred("web", tt.byDefault).String(); got != tt.web {
				t.Errorf("web prefers %s, want %s", got, tt.web)
			}
			if got := tt.plan.Preferred("db", tt.byDefault).String(); got != tt.db {
				t.Errorf("db prefers %s, want %s", got, tt.db)
			}
		})
	}
}

// TestDigestTellsApart compares many plans pair by pair: the digests must differ if any election
// prefers something else. A difference in counters alone must not change the digest.
func TestDigestTellsApart(t *testing.T) {
	var plans []Plan
	for _, phase := range append([]Phase{Pending}, phases...) {
		for _, reach := range []Reach{{}, {Names: []string{"web"}}, {Names: []string{"db", "web"}}, {UpTo: lastRank}, {UpTo: lastRank, Except: []string{"web"}}, {UpTo: 1 << 63}} {
			for _, retry := range []int{0, 1} {
				p := planOf(phase)
				p.Status.Reach = reach
				p.Rollout.Retry = retry
				if phase == Pending {
					p.Status = nil
				}
				plans = append(plans, p)
				aborted, other := *p.Rollout, *p.Rollout
				aborted.Abort, other.Canary = true, "black"
				plans = append(plans, Plan{Rollout: &aborted, Status: p.Status}, Plan{Rollout: &other, Status: p.Status})
			}
		}
	}
	plans = append(plans, Plan{}, Plan{Unreadable: []string{KeyPins}}, Plan{Unreadable: []string{KeyRollout}}, Plan{Unreadable: []string{KeyStatus}},
		Plan{Unreadable: []string{KeyStatus}, Rollout: planOf(Paused).Rollout})
	for _, p := range slices.Clone(plans) {
		for _, pin := range []Pin{{Election: "web", Revision: "red"}, {Election: "web", Member: "red"}, {Election: "db", Revision: "red"}} {
			p.Pins = []Pin{pin}
			plans = append(plans, p)
		}
	}
	for _, p := range slices.Clone(plans) {
		for _, asked := range []Plan{{Standstill: &Standstill{}}, {Standstill: &Standstill{NoTakeover: true}}, {Drained: []Drain{{Member: "web-0"}}}, {Handovers: []Handover{{Election: "web", To: "web-1"}}}} {
			p.Standstill, p.Drained, p.Handovers = asked.Standstill, asked.Drained, asked.Handovers
			plans = append(plans, p)
		}
	}
	elections := []string{"web", "db"}
	for i := range 60 {
		elections = append(elections, fmt.Sprintf("e%d", i))
	}
	byDigest := map[string]string{}
	for _, p := range plans {
		for _, byDefault := range []record.Preferred{unsynced, record.Prefer(""), blue, record.Prefer("red")} {
			all := ""
			for _, e := range elections {
				all += fmt.Sprintf("%+v\n", p.Preferred(e, byDefault))
			}
			digest := p.Digest(byDefault)
			if before, seen := byDigest[digest]; seen && before != all {
				t.Fatalf("digest %s stands for two preferences: %+v", digest, p)
			}
			byDigest[digest] = all
		}
	}
}

func TestDigestLeavesOut(t *testing.T) {
	p := planOf(Progressing)
	want := p.Digest(blue)
	spec, status := *p.Rollout, p.Status.clone()
	spec.Generation, spec.Paused, spec.By = 7, true, "somebody"
	status.Generation, status.Phase, status.Step, status.Moved, status.Message = 7, Paused, 3, 12, "waits"
	status.Moving = []Moving{{Election: "web", Since: At(start)}}
	status.Failures = []Failure{{Check: "flaps"}}
	p = Plan{Rollout: &spec, Status: &status, History: []Ended{{UID: uid}}}
	if got := p.Digest(blue); got != want {
		t.Errorf("digest %s became %s", want, got)
	}
	for _, p := range []Plan{{}, planOf(Complete), {Unreadable: []string{KeyHistory}}} {
		if got := p.Digest(blue); got != "blue" {
			t.Errorf("digest of a plan that says nothing is %s", got)
		}
	}
	one, other := Plan{Pins: []Pin{{Election: "a", Revision: "x"}, {Election: "b", Revision: "y"}}}, Plan{Pins: []Pin{{Election: "b", Revision: "y"}, {Election: "a", Revision: "x", By: "me"}}}
	if one.Digest(blue) != other.Digest(blue) {
		t.Error("the order of pins, or who made them, divides members")
	}
}

// TestAbortUnitesMembers checks that, after an abort, members that know the status and members that
// cannot read it publish the same digest.
func TestAbortUnitesMembers(t *testing.T) {
	knows := planOf(Progressing)
	knows.Rollout.Abort = true
	blind := Plan{Rollout: knows.Rollout, Unreadable: []string{KeyStatus}}
	if knows.Digest(blue) != blind.Digest(blue) {
		t.Error("an unreadable status divides members although the rollout is aborted")
	}
}
