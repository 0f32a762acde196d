package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/primacy-dev/primacy/cmd/primacy/view/viewtest"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

var checks = []string{"acquired", "flaps", "renewals", "runners"}

// spec is a rollout with a step of each kind.
func spec() rollout.Spec {
	return rollout.Spec{
		UID: "00000000000000aa", Generation: 1, Stable: "1-9-0", Canary: "1-10-0", StartedAt: rollout.At(now.Add(-12 * time.Minute)), By: "anna",
		Steps: []rollout.Step{
			{Elections: []string{"ingress"}}, {SetWeight: 25}, {Pause: &rollout.Pause{Duration: 10 * time.Minute}},
			{SetWeight: 50}, {Analysis: &rollout.Analysis{For: 5 * time.Minute}}, {SetWeight: 100},
		},
		AcquireTimeout: time.Minute,
	}.WithDefaults()
}

// group is a report in which the canary leads the given elections.
func group(canarys ...string) status.Report {
	r := status.Report{At: now}
	for i, name := range []string{"certificates", "dns", "endpoints", "gateway", "ingress", "quota", "rollout-edge", "webhooks"} {
		e := led(name, old0, "1-9-0", uint64(200+i), time.Hour)
		if slices.Contains(canarys, name) {
			e = led(name, new0, "1-10-0", uint64(300+i), time.Duration(i+1)*time.Minute)
		}
		r.Elections = append(r.Elections, e)
	}
	r.Members = []status.Member{live(new0, "1-10-0", len(canarys)), live(old0, "1-9-0", 8-len(canarys))}
	return r
}

// step is a plan whose rollout is at step n.
func step(n int, phase rollout.Phase, reach rollout.Reach, change func(*rollout.Status)) rollout.Plan {
	s := spec()
	st := rollout.Status{
		UID: s.UID, Stable: s.Stable, Canary: s.Canary, Generation: 1, Phase: phase, Step: n, Began: s.StartedAt,
		StepStarted: rollout.At(now.Add(-90 * time.Second)), Reach: reach, Elections: 8,
	}
	if change != nil {
		change(&st)
	}
	return rollout.Plan{Rollout: &s, Status: &st}
}

// scene is one screen of `primacy rollout status -w`.
type scene struct {
	plan   rollout.Plan
	report status.Report
	events []string
}

func scenes() map[string]scene {
	failed := group("ingress")
	failed.Members[0].Ready = false
	moving := group("ingress")
	moving.Elections[1] = status.Election{
		Name: "dns", Group: "edge", Lock: "dns", State: status.Released, HandoverTo: new0, Token: 201, Acquired: now.Add(-20 * time.Millisecond),
	}
	return map[string]scene{
		"moving": {
			plan: step(2, rollout.Progressing, rollout.Reach{Names: []string{"dns", "ingress"}}, func(s *rollout.Status) {
				s.Moved, s.Moving = 1, []rollout.Moving{{Election: "dns", Since: rollout.At(now.Add(-2 * time.Second))}}
				s.Message = "step 2 of 6: 1 on their way, 0 wait for their turn, 0 without a ready member of 1-10-0"
			}),
			report: moving,
			events: []string{"11:58:30 step 2 of 6: setWeight 25", "12:00:00 dns: released, left to new-0"},
		},
		"paused": {
			plan: step(3, rollout.Paused, rollout.Reach{Names: []string{"dns", "ingress"}}, func(s *rollout.Status) {
				s.Moved, s.Message = 2, "step 3 of 6: pause until 2026-11-20T12:08:30Z"
			}),
			report: group("ingress", "dns"),
			events: []string{"11:58:30 step 3 of 6: pause 10m", "11:58:30 Paused"},
		},
		"rolled-back": {
			plan: step(5, rollout.RolledBack, rollout.Reach{}, func(s *rollout.Status) {
				s.Message = "step 5 of 6: rolled back: runners, dns, " + new0 + ": its runners failed"
				s.Failures = []rollout.Failure{{Check: "runners", Election: "dns", Member: new0, What: "its runners failed", At: rollout.At(now.Add(-20 * time.Second))}}
			}),
			report: failed,
			events: []string{"11:59:40 check runners: dns: new-0: its runners failed", "11:59:40 RolledBack", "11:59:41 dns: new-0 -> old-0 leads, revision 1-9-0, token 412"},
		},
	}
}

func (s scene) look() Rollout {
	return RolloutOf("edge", s.plan, s.report, checks, func(string) bool { return false })
}

const document = "../../../docs/rollouts.md"

// TestScreensInDocs checks that docs/rollouts.md has the screens that the program draws; -update writes
// them there.
func TestScreensInDocs(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, s := range scenes() {
		begin := fmt.Sprintf("<!-- screen: %s -->\n```text\n", name)
		before, rest, found := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, "```\n")
		if !found || !closed {
			t.Fatalf("%s has no %q", document, begin)
		}
		page := ansi.Strip(s.look().Page(s.events, []string{Key("q", "quit")}).Draw(110, 34))
		lines := strings.Split(page, "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		want = before + begin + strings.Join(lines, "\n") + "\n```\n" + after
	}
	if want == string(text) {
		return
	}
	if viewtest.Updating() {
		if err := os.WriteFile(document, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("screens in %s are not what is shown (go test -update writes them); want\n%s", document, want)
}

func TestRolloutText(t *testing.T) {
	var out bytes.Buffer
	for _, name := range []string{"moving", "rolled-back"} {
		if err := scenes()[name].look().WriteText(&out); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	pinned := rollout.Plan{Pins: []rollout.Pin{{Election: "dns", Revision: "1-10-0"}, {Election: "quota", Member: "old-0"}}, Unreadable: []string{rollout.KeyRollout}}
	if err := RolloutOf("edge", pinned, group(), checks, func(string) bool { return false }).WriteText(&out); err != nil {
		t.Fatal(err)
	}
	viewtest.Golden(t, "rollout.txt", out.String())
}

func TestRolloutDocument(t *testing.T) {
	text, err := json.MarshalIndent(scenes()["rolled-back"].look(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	viewtest.Golden(t, "rollout.json", string(text)+"\n")
}

// TestMoves checks how far each election is shown to be, in each phase of a rollout.
func TestMoves(t *testing.T) {
	reach := rollout.Reach{Names: []string{"dns", "ingress"}}
	pin := func(p rollout.Plan, pins ...rollout.Pin) rollout.Plan {
		p.Pins = pins
		return p
	}
	abort := step(3, rollout.Paused, reach, nil)
	aborted := *abort.Rollout
	aborted.Abort = true
	abort.Rollout = &aborted
	stale := group("dns")
	stale.Elections[1].Stale = true
	for _, tt := range []struct {
		name   string
		plan   rollout.Plan
		report status.Report
		state  Progress
		move   string
		weight Weight
	}{
		{"no plan", rollout.Plan{}, group(), Done, "follows the default", Weight{0, 0, 0, 7}},
		{"no status", rollout.Plan{Rollout: abort.Rollout}, group("dns"), Current, "going back", Weight{0, 14, 1, 7}},
		{"moving", step(2, rollout.Progressing, reach, nil), group("ingress"), Current, "moving", Weight{25, 14, 1, 7}},
		{"moved", step(2, rollout.Progressing, reach, nil), group("ingress", "dns"), Done, "moved", Weight{25, 28, 2, 7}},
		{"moved, but dead", step(2, rollout.Progressing, reach, nil), stale, Current, "moving", Weight{25, 0, 0, 7}},
		{"absent", step(2, rollout.Progressing, reach, func(s *rollout.Status) { s.Absent = []string{"dns"} }), group("ingress"), Failing, "no ready member of the canary", Weight{25, 14, 1, 7}},
		{"later", step(1, rollout.Progressing, rollout.Reach{Names: []string{"ingress"}}, nil), group(), Later, "waits for a later step", Weight{0, 0, 0, 7}},
		{"aborted", abort, group("dns"), Current, "going back", Weight{0, 14, 1, 7}},
		{"back", abort, group(), Done, "back", Weight{0, 0, 0, 7}},
		{"promoted", step(6, rollout.Promoted, rollout.Reach{UpTo: ^rollout.Rank(0)}, nil), group("dns"), Done, "moved", Weight{100, 14, 1, 7}},
		{"complete", step(6, rollout.Complete, rollout.Reach{}, nil), group("dns"), Done, "follows the default", Weight{100, 14, 1, 7}},
		{"pinned", pin(step(2, rollout.Progressing, reach, nil), rollout.Pin{Election: "dns", Revision: "1-9-0"}), group(), Done, "pinned to 1-9-0", Weight{25, 0, 0, 7}},
		{"pinned elsewhere", pin(rollout.Plan{}, rollout.Pin{Election: "dns", Member: "new-0"}), group(), Current, "pinned to member new-0", Weight{0, 0, 0, 7}},
	} {
		v := RolloutOf("edge", tt.plan, tt.report, checks, func(string) bool { return false })
		if e := v.Elections[1]; e.State != tt.state || e.Move != tt.move || v.Weight != tt.weight {
			t.Errorf("%s: %s %q, weight %+v", tt.name, e.State, e.Move, v.Weight)
		}
	}
}

func TestRolloutNews(t *testing.T) {
	var n RolloutNews
	say := func(p rollout.Plan, r status.Report) string {
		return strings.Join(n.Since(RolloutOf("edge", p, r, checks, func(string) bool { return false })), "\n")
	}
	reach := rollout.Reach{Names: []string{"dns", "ingress"}}
	failing := func(s *rollout.Status) {
		s.Failures = []rollout.Failure{{Check: "flaps", Election: "dns", What: "lost by the canary 5 times", At: rollout.At(now)}}
		s.Message = "held: 1 failure"
	}
	s := spec()
	for i, tt := range []struct {
		plan   rollout.Plan
		report status.Report
		want   string
	}{
		{rollout.Plan{}, group(), ""},
		{rollout.Plan{Rollout: &s}, group(), "rollout from 1-9-0 to 1-10-0\nPending\nweight: set 0 %, actual 0 % (0 of 7)\nnobody has begun it: " +
			old0 + " leads rollout-edge, so its log says why (primacy check --pre, with the credentials of members, asks for its rights)"},
		{step(1, rollout.Progressing, reach, nil), group(), "step 1 of 6: elections ingress\nProgressing"},
		{step(2, rollout.Progressing, reach, nil), group("dns"), "step 2 of 6: setWeight 25\nweight: set 25 %, actual 14 % (1 of 7)\ndns: old-0 -> new-0 leads, revision 1-10-0, token 301"},
		{step(2, rollout.Degraded, reach, failing), group("dns"), "Degraded\ncheck flaps: dns: lost by the canary 5 times\nheld: 1 failure"},
		{step(2, rollout.Degraded, reach, failing), group("dns"), ""},
		{rollout.Plan{Unreadable: []string{rollout.KeyRollout}}, group("dns"), "there is no rollout any more"},
	} {
		if got := say(tt.plan, tt.report); got != tt.want {
			t.Errorf("step %d:\n%s\nwant\n%s", i, got, tt.want)
		}
	}
}

// TestRolloutThatNobodyBegins checks that the state says so, and what to look at.
func TestRolloutThatNobodyBegins(t *testing.T) {
	s := spec()
	for _, tt := range []struct {
		age  time.Duration
		plan rollout.Plan
		r    status.Report
		want string
	}{
		{beginTime, rollout.Plan{Rollout: &s}, group(), ""},
		{beginTime + time.Second, rollout.Plan{Rollout: &s}, group(), "nobody has begun it: " + old0 + " leads rollout-edge"},
		{beginTime + time.Second, rollout.Plan{Rollout: &s}, status.Report{At: now}, "nobody has begun it: nobody leads rollout-edge (primacy explain rollout-edge"},
		{beginTime + time.Second, step(1, rollout.Progressing, rollout.Reach{}, nil), group(), ""},
		{0, rollout.Plan{}, group(), ""},
	} {
		s.StartedAt = rollout.At(now.Add(-tt.age))
		v := RolloutOf("edge", tt.plan, tt.r, checks, func(string) bool { return false })
		if got := strings.Join(v.Problems, "\n"); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%v after its start: %q, want %q", tt.age, got, tt.want)
		}
	}
}

func TestStepText(t *testing.T) {
	for want, s := range map[string]rollout.Step{
		"pause until promoted": {Pause: &rollout.Pause{}}, "pause 1h": {Pause: &rollout.Pause{Duration: time.Hour}},
		"pause 1h30m": {Pause: &rollout.Pause{Duration: 90 * time.Minute}}, "analysis 1m30s": {Analysis: &rollout.Analysis{For: 90 * time.Second}},
		"unknown": {}, "elections a, b": {Elections: []string{"a", "b"}},
	} {
		if got := StepText(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRolloutLeavesAlone checks that an election that no rollout moves shows no progress, and does not
// count in weights.
func TestRolloutLeavesAlone(t *testing.T) {
	plan := step(4, rollout.RolledBack, rollout.Reach{}, nil)
	v := RolloutOf("edge", plan, group("ingress", "dns"), checks, func(name string) bool { return name == "dns" })
	if v.Weight.All != 6 || v.Weight.Led != 1 {
		t.Errorf("%+v", v.Weight)
	}
	for _, e := range v.Elections {
		if left := e.Move == "left alone: its policy or scope does not follow rollouts"; left != (e.Name == "dns") || left && e.State != Done {
			t.Errorf("%s: %s, %s", e.Name, e.Move, e.State)
		}
	}
}
