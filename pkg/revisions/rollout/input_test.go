package rollout

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/strict"
)

const goodSpec = `uid: 00c0ffee00c0ffee
generation: 1
stable: red
canary: green
startedAt: 2026-11-20T09:00:00Z
acquireTimeout: 1m
steps:
- elections: [web]
- setWeight: 50
- pause: {}
- pause: {duration: 10m}
- analysis: {for: 5m}
- setWeight: 100
`

func TestGoodSpec(t *testing.T) {
	p, err := Read(map[string]string{KeyRollout: goodSpec}, Plan{})
	if err != nil {
		t.Fatal(err)
	}
	want := specOf(Step{Elections: []string{"web"}}, weigh(50), pause(0), pause(10*time.Minute), analyse(5*time.Minute), weigh(100))
	if !reflect.DeepEqual(*p.Rollout, want) {
		t.Errorf("read %+v", *p.Rollout)
	}
	for i, kind := range []StepKind{StepElections, StepSetWeight, StepPause, StepPause, StepAnalysis, StepSetWeight} {
		if got := want.Steps[i].Kind(); got != kind {
			t.Errorf("step %d is of kind %d", i+1, got)
		}
	}
}

// TestBadInput checks that each mistake is reported with its key, line, field and a hint.
func TestBadInput(t *testing.T) {
	for _, tt := range []struct{ key, old, new, want string }{
		{KeyRollout, "setWeight: 100", "setWeight: 40", `rollout:13:14: steps[5].setWeight: 40 is less than the weight before, 50 (weights only grow; ` + "`abort`" + ` takes everything back)`},
		{KeyRollout, "setWeight: 100", "setWeight: 60", `rollout:8:1: steps: the last step does not reach 100 (end with setWeight: 100)`},
		{KeyRollout, "- setWeight: 100\n", "", `rollout:8:1: steps: the last step does not reach 100`},
		{KeyRollout, "- setWeight: 100", "- setWeight: 101", `rollout:13:14: steps[5].setWeight: 101 is not between 1 and 100`},
		{KeyRollout, "- setWeight: 100", "- setWeight: 0", `rollout:13:3: steps[5]: want exactly one kind of step, got 0 (elections, setWeight, pause or analysis)`},
		{KeyRollout, "- pause: {}", "- {pause: {}, setWeight: 60}", `rollout:10:3: steps[2]: want exactly one kind of step, got 2`},
		{KeyRollout, "- pause: {}", "- pause:", `rollout:10:9: steps[2].pause: has no value`},
		{KeyRollout, "{duration: 10m}", "{duration: -1s}", `rollout:11:21: steps[3].pause.duration: -1s is not between 0 and a year (such as 10m)`},
		{KeyRollout, "{for: 5m}", "{}", `rollout:12:13: steps[4].analysis.for: is missing`},
		{KeyRollout, "{for: 5m}", "{for: 5}", `rollout:12:19: steps[4].analysis.for: `},
		{KeyRollout, "[web]", "[]", `rollout:8:14: steps[0].elections: is empty (name at least one)`},
		{KeyRollout, "[web]", "[web, web]", `rollout:8:20: steps[0].elections[1]: "web" was named before (name it once)`},
		{KeyRollout, "[web]", "[We_b]", `rollout:8:15: steps[0].elections[0]: "We_b" is no name of an election (use lower-case`},
		{KeyRollout, "[web]", "[" + strings.Repeat("x", 64) + "]", `has 64 characters (63 at most)`},
		{KeyRollout, "canary: green", "canary: red", `rollout:4:9: canary: stable and canary are both "red" (a rollout moves`},
		{KeyRollout, "canary: green", "canary: 1.10", `rollout:4:9: canary: 1.10 is a number, want text (write it quoted: "1.10")`},
		{KeyRollout, "canary: green", "canary: -x", `rollout:4:9: canary: "-x" is no revision`},
		{KeyRollout, "canary: green\n", "", `rollout:1:1: canary: is missing`},
		{KeyRollout, "canary:", "cannary:", `rollout:4:1: cannary: unknown field (did you mean canary?)`},
		{KeyRollout, "canary: green", "canary: green\nstable: red", `rollout:5:1: stable: is given twice, first in line 3 (keep one of the two)`},
		{KeyRollout, "uid: 00c0ffee00c0ffee", "uid: x", `rollout:1:6: uid: "x" is no uid of a rollout (16 hexadecimal digits`},
		{KeyRollout, "generation: 1", "generation: 0", `rollout:2:13: generation: 0 is not between 1 and`},
		{KeyRollout, "2026-11-20T09:00:00Z", "yesterday", `rollout:5:12: startedAt: want a time, got "yesterday" (write it as 2026-11-20T08:58:30Z)`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 0s", `rollout:6:17: acquireTimeout: 0s is not between 0 and a year`},
		{KeyRollout, "acquireTimeout: 1m\n", "", `rollout:1:1: acquireTimeout: is missing`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\nonFailure: Stop", `rollout:7:12: onFailure: want Rollback or Pause, got "Stop"`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\nwhenPreferredAbsent: stay", `rollout:7:22: whenPreferredAbsent: want Stay or Wait or Rollback, got "stay" (did you mean Stay?)`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\nmaxConcurrentMoves: 0", `rollout:7:21: maxConcurrentMoves: 0 is not between 1 and`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\nfailureLimit: -1", `rollout:7:15: failureLimit: -1 is not between 0 and 100`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\nretry: -1", `rollout:7:8: retry: -1 is not`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\nforgive: -1", `rollout:7:10: forgive: -1 is not`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\nchecks: []", `rollout:7:9: checks: is empty (leave it out for all checks, write [none] for none)`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\nchecks: [flaps, flaps]", `rollout:7:17: checks[1]: "flaps" is given twice`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\nchecks: [none, flaps]", `rollout:7:10: checks[0]: want either none or checks`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\nchecks: ['']", `rollout:7:10: checks[0]: is empty`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\npromote: {}", `rollout:7:10: promote: want exactly one of step and full (step: 2, or full: true)`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\npromote: {step: 1, full: true}", `rollout:7:10: promote: want exactly one of`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\npromote: {step: -1}", `rollout:7:17: promote.step: -1 is not between`},
		{KeyRollout, "acquireTimeout: 1m", "acquireTimeout: 1m\nabort: yes", `rollout:7:8: abort: want true or false`},
		{KeyRollout, "uid:", "\tuid:", `rollout: not valid YAML: found character that cannot start any token (indent with spaces, not with tabs;`},
		{KeyRollout, goodSpec, "", `rollout: there is nothing in it (remove the key instead)`},
		{KeyRollout, goodSpec, goodSpec + "---\n" + goodSpec, `a second document begins here`},
		{KeyRollout, goodSpec, "[]", `rollout:1:1: want a mapping, got a list`},
		{KeyRollout, goodSpec, strings.Repeat("#", maxDocument+1), `rollout: is larger than 1 MiB`},
		{KeyPins, "", "- election: web", `pins:1:3: [0]: want exactly one of revision and member (revision: 1-9-0, or member: web-0)`},
		{KeyPins, "", "- {election: web, revision: x, member: a}", `pins:1:3: [0]: want exactly one of`},
		{KeyPins, "", "- {election: web, revision: x}\n- {election: web, member: a}", `pins:2:14: [1].election: "web" is pinned twice (keep one of the two)`},
		{KeyPins, "", "- {election: web, member: web-0_0a1b2c3d}", `pins:1:27: [0].member: "web-0_0a1b2c3d" is no host name of a member (a member's host name: its identity up to the last _)`},
		{KeyPins, "", "- {election: W, revision: x}", `pins:1:14: [0].election: "W" is no name`},
		{KeyPins, "", "- {election: web, revision: x, until: 5m}", `pins:1:32: [0].until: unknown field`},
		{KeyPins, "", "web: x", `pins:1:1: want a list, got a mapping`},
		{KeyHistory, "", "- {uid: a, stable: a, canary: b, started: 2026-11-20T09:00:00Z, ended: 2026-11-20T09:00:00Z, how: Well}", `history:1:99: [0].how: want `},
	} {
		data := map[string]string{KeyRollout: goodSpec}
		if tt.old == "" {
			data[tt.key] = tt.new
		} else {
			data[tt.key] = strings.Replace(data[tt.key], tt.old, tt.new, 1)
		}
		_, err := Read(data, Plan{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with %q:\ngot  %v\nwant %s", tt.key, tt.new, err, tt.want)
			continue
		}
		var errs strict.Errors
		if !errors.As(err, &errs) {
			t.Errorf("%T", err)
		}
	}
}

// TestEditedStatus checks that the checksum reveals each value changed by hand, but accepts another
// text with the same meaning.
func TestEditedStatus(t *testing.T) {
	p := planOf(Progressing)
	p.Status.Failures = []Failure{{Check: "flaps", What: "x", At: At(start)}}
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	status := data[KeyStatus]
	for _, edit := range [][2]string{
		{"- web", "- db"}, {"phase: Progressing", "phase: Promoted"}, {"step: 1", "step: 2"}, {"canary: green", "canary: blue"},
		{"generation: 1", "generation: 2"}, {"what: x", "what: \"y\""}, {"elections: 0", "elections: 1"}, {"09:00:00", "09:00:01"},
		{"reach:", "reach:\n    upTo: ffffffffffffffff"}, {"failures:", "absent: [web]\nfailures:"},
	} {
		data[KeyStatus] = strings.Replace(status, edit[0], edit[1], 1)
		if data[KeyStatus] == status {
			t.Fatalf("%q is not in %s", edit[0], status)
		}
		_, err := Read(data, Plan{})
		if err == nil || !strings.Contains(err.Error(), "status:") || !strings.Contains(err.Error(), ": checksum: does not belong to what is written here (only the controller may write the status") {
			t.Errorf("%s: %v", edit[1], err)
		}
	}
	data[KeyStatus] = "# by hand\n" + strings.Replace(status, "phase: Progressing", `"phase":   'Progressing'`, 1)
	if _, err := Read(data, Plan{}); err != nil {
		t.Errorf("the same, written otherwise: %v", err)
	}
}

// TestListsInOrder checks that everybody ignores a status whose reach has a list that is out of
// order, or names an election twice, though its checksum is right: Reach.Has searches these lists.
func TestListsInOrder(t *testing.T) {
	for _, tt := range []struct {
		reach Reach
		want  string // empty for none
	}{
		{Reach{Names: []string{"a", "b"}, UpTo: 1, Except: []string{"a", "b"}}, ""},
		{Reach{Names: []string{"b", "a"}}, `status:12:11: reach.names[1]: "a" comes after "b" (only the controller may write the status; it is ignored until the controller has written it again)`},
		{Reach{UpTo: 1, Except: []string{"a", "c", "b"}}, `status:14:11: reach.except[2]: "b" comes after "c" (only the controller may write`},
		{Reach{Names: []string{"a", "a"}}, `status:12:11: reach.names[1]: "a" is given twice (only the controller may write`},
	} {
		p := planOf(Progressing)
		p.Status.Reach = tt.reach
		text, err := yaml.Marshal(p.Status.Sealed())
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(map[string]string{KeyRollout: goodSpec, KeyStatus: string(text)}, Plan{})
		if tt.want == "" {
			if err != nil || got.Status == nil {
				t.Errorf("%+v: %v", tt.reach, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || got.Status != nil || !got.Blind() {
			t.Errorf("%+v: %v, read %+v\nwant %s\nof %s", tt.reach, err, got, tt.want, text)
		}
		if _, err := p.Encode(); err == nil {
			t.Errorf("%+v was written", tt.reach)
		}
	}
}

// TestLastGood checks which value remains for each key that cannot be read.
func TestLastGood(t *testing.T) {
	good := planOf(Progressing)
	good.Pins = []Pin{{Election: "db", Revision: "red"}}
	good.History = []Ended{{UID: uid, Stable: "a", Canary: "b", Started: At(start), Ended: At(start), How: Complete}}
	data, err := good.Encode()
	if err != nil {
		t.Fatal(err)
	}
	last, err := Read(data, Plan{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{KeyPins, KeyRollout, KeyStatus, KeyHistory} {
		broken := maps.Clone(data)
		broken[key] = "{broken: true}"
		p, err := Read(broken, last)
		if err == nil || !strings.HasPrefix(err.Error(), key+":1") {
			t.Errorf("%s: %v", key, err)
		}
		if !reflect.DeepEqual(p, last) {
			t.Errorf("%s: read %+v\nwant %+v", key, p, last)
		}
		again, _ := Read(broken, p)
		if !reflect.DeepEqual(again, last) {
			t.Errorf("%s: the second time %+v", key, again)
		}
		fresh, _ := Read(broken, Plan{})
		if got, want := fresh.Unreadable != nil, key != KeyHistory; got != want {
			t.Errorf("%s: unreadable %v to who knows nothing", key, fresh.Unreadable)
		}
		still, _ := Read(broken, fresh)
		if !reflect.DeepEqual(still, fresh) {
			t.Errorf("%s: unreadable %v the second time", key, still.Unreadable)
		}
		if back, err := Read(data, fresh); err != nil || !reflect.DeepEqual(back, last) {
			t.Errorf("%s: corrected, and %+v, %v", key, back, err)
		}
	}

	gone := maps.Clone(data)
	delete(gone, KeyStatus)
	if p, err := Read(gone, last); err == nil || !strings.Contains(err.Error(), "status: is gone") || !reflect.DeepEqual(p.Status, last.Status) {
		t.Errorf("status taken away: %v, %+v", err, p.Status)
	}
	if p, err := Read(gone, Plan{}); err != nil || p.Status != nil || p.Unreadable != nil {
		t.Errorf("no status yet: %v, %+v", err, p)
	}
	if p, err := Read(nil, last); err != nil || p.Pins != nil || p.Rollout != nil || p.Status != nil {
		t.Errorf("deleted: %v, %+v", err, p)
	}
	nothing, _ := Read(nil, Plan{})
	if p, _ := Read(map[string]string{KeyRollout: "broken"}, nothing); p.Rollout != nil || p.Unreadable != nil {
		t.Errorf("a start that cannot be read, after there was none: %+v", p)
	}
}

func TestWordsRefuse(t *testing.T) {
	spec := specOf(weights(100)...)
	other := spec
	other.UID, other.Canary = "0000000000000001", "blue"
	fails := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), ")") {
			t.Errorf("got %v, want %q and a hint", err, want)
		}
	}
	for _, phase := range []Phase{Progressing, Paused, Analysing, Degraded, Promoted} {
		_, err := planOf(phase).Start(other, start)
		fails(err, `the rollout from "red" to "green" is `+string(phase))
	}
	pending := planOf(Progressing)
	pending.Status = nil
	_, err := pending.Start(other, start)
	fails(err, `is Pending`)
	for _, phase := range []Phase{RolledBack, Aborted} {
		again := spec
		again.UID = other.UID
		_, err := planOf(phase).Start(again, start)
		fails(err, `revision "green" is blocked`)
		p, err := planOf(phase).Start(other, start)
		if err != nil || len(p.History) != 1 || p.History[0].How != phase || p.Status != nil || p.Rollout.Canary != "blue" {
			t.Errorf("another canary after %s: %v, %+v", phase, err, p)
		}
		from := other
		from.Stable = "green"
		_, err = planOf(phase).Start(from, start)
		fails(err, `the stable revision "green" is blocked`)
	}
	same := spec
	_, err = planOf(Complete).Start(same, start)
	fails(err, "was used before")
	bad := other
	bad.Canary = bad.Stable
	_, err = Plan{}.Start(bad, start)
	fails(err, "stable and canary are both")
	for _, word := range []func(Plan) (Plan, error){Plan.Abort, Plan.Pause, Plan.Resume, Plan.PromoteStep, Plan.PromoteFull, Plan.Retry} {
		if _, err := word(Plan{}); !errors.Is(err, ErrNoRollout) {
			t.Errorf("without a rollout: %v", err)
		}
	}
	for _, phase := range []Phase{RolledBack, Aborted, Promoted, Complete} {
		_, err = planOf(phase).Pause()
		fails(err, "cannot pause")
		_, err = planOf(phase).PromoteStep()
		fails(err, "cannot promote")
	}
	_, err = pending.PromoteFull()
	fails(err, "no controller")
	shown, second := planOf(Paused), planOf(Paused)
	second.Status.Step = 2
	for _, tt := range []struct {
		now, shown Plan
		want       string
	}{
		{pending, pending, "no controller"},
		{shown, pending, "the rollout is at step 1 now, and not at step 0"},
		{second, shown, "the rollout is at step 2 now, and not at step 1"},
		{pending, shown, "no controller"},
		{planOf(Aborted), shown, "the rollout is Aborted"},
	} {
		_, err = tt.now.PromotePast(tt.shown)
		fails(err, tt.want)
	}
	if p, err := shown.PromotePast(shown); err != nil || p.Rollout.Promote.Step != shown.Status.Step {
		t.Errorf("promote past the present step: %v, %+v", err, p.Rollout)
	}
	unbelieved := pending
	unbelieved.Unreadable = []string{KeyStatus}
	for _, word := range []func(Plan) (Plan, error){Plan.PromoteStep, Plan.PromoteFull, func(p Plan) (Plan, error) { return p.PromotePast(p) }} {
		_, err = word(unbelieved)
		fails(err, "cannot promote: the rollout's status is unreadable or was edited by hand")
	}
	for _, phase := range phases {
		_, err = planOf(phase).Resume()
		fails(err, fmt.Sprintf("cannot resume: nobody paused the rollout: it is %s", phase))
	}
	held, err := planOf(Progressing).Pause()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := held.Resume(); err != nil || p.Rollout.Paused {
		t.Errorf("resume after pause: %v, %+v", err, p.Rollout)
	}
	_, err = planOf(Paused).Retry()
	fails(err, "the rollout is Paused")
	_, err = Plan{}.Unpin("web")
	fails(err, "not pinned")
	_, err = Plan{}.PinTo(Pin{Election: "web"})
	fails(err, "exactly one of")
	_, err = Plan{Unreadable: []string{KeyPins}}.PinTo(Pin{Election: "web", Revision: "x"})
	fails(err, "cannot be read")
}

func TestHistoryIsBounded(t *testing.T) {
	p := planOf(Complete)
	for i := range 2 * HistoryLength {
		spec := specOf(weights(100)...)
		spec.UID = strings.Repeat(string(rune('a'+i%6)), 15) + string(rune('0'+i%10))
		var err error
		if p, err = p.Start(spec, start); err != nil {
			t.Fatal(err)
		}
		status := Status{UID: spec.UID, Stable: "red", Canary: "green", Phase: Complete, Step: 1, Began: At(start), StepStarted: At(start)}
		p.Status = &status
	}
	if n := len(p.History); n != HistoryLength {
		t.Errorf("the history has %d lines", n)
	}
}

// TestRetryOfWhatNobodyCanRead checks that a retry drops the broken status, and that the rollout
// begins again.
func TestRetryOfWhatNobodyCanRead(t *testing.T) {
	data, err := planOf(Paused).Encode()
	if err != nil {
		t.Fatal(err)
	}
	data[KeyStatus] = "broken"
	p, _ := Read(data, Plan{})
	if !p.Blind() {
		t.Fatal("not blind")
	}
	if p, err = p.Retry(); err != nil || p.Blind() || p.Rollout.Retry != 1 {
		t.Fatalf("%v, %+v", err, p)
	}
	if data, err = p.Encode(); err != nil || data[KeyStatus] != "" {
		t.Fatalf("%v, %v", err, data)
	}
	if p, err = Read(data, Plan{}); err != nil || p.Phase() != Pending {
		t.Errorf("%v, %+v", err, p)
	}
}

func TestExplain(t *testing.T) {
	spec := specOf(Step{Elections: []string{"e1"}}, weigh(50), pause(0), weigh(100))
	seen := Seen{Own: own, Elections: []Election{
		{Name: "e0", Holder: "a", Revision: "red", Canary: "b"}, {Name: "e1", Holder: "a", Revision: "red", Canary: "b"},
		{Name: "e2", Holder: "a", Revision: "red"}, {Name: "e3", Pinned: true}, {Name: "e4", Holder: "b", Revision: "green", Canary: "b"},
		{Name: own, Canary: "b"},
	}}
	x, err := Explain(spec, seen)
	if err != nil {
		t.Fatal(err)
	}
	moves := map[string]Move{}
	for _, s := range x.Steps {
		for _, m := range s.Moves {
			if _, twice := moves[m.Election]; twice {
				t.Errorf("%s moves twice", m.Election)
			}
			moves[m.Election] = m
		}
	}
	if want := (map[string]Move{"e0": {"e0", "a", "b"}, "e1": {"e1", "a", "b"}, "e2": {"e2", "a", ""}, own: {own, "", "b"}}); !maps.Equal(moves, want) {
		t.Errorf("moves %v", moves)
	}
	if got := x.Steps[0]; got.Step != 1 || len(got.Moves) != 1 || got.Moves[0].Election != "e1" {
		t.Errorf("first %+v", got)
	}
	if last := x.Steps[len(x.Steps)-1]; last.Step != 4 || last.Moves[len(last.Moves)-1].Election != own {
		t.Errorf("last %+v", last)
	}
	if !reflect.DeepEqual(x.Pinned, []string{"e3"}) || !reflect.DeepEqual(x.Absent, []string{"e2"}) {
		t.Errorf("pinned %v, absent %v", x.Pinned, x.Absent)
	}
	spec.Steps[0].Elections[0] = "e11"
	if _, err := Explain(spec, seen); err == nil || err.Error() != `steps[0].elections[0]: the group has no election "e11" (did you mean e1?)` {
		t.Errorf("unknown election: %v", err)
	}
	spec.Canary = "red"
	if _, err := Explain(spec, seen); err == nil {
		t.Error("a spec that is not valid")
	}
}

// TestExplainRefusesItsOwnElection checks that no step names the controller's own election: a step that waits for it would be over
// at once, with nothing moved.
func TestExplainRefusesItsOwnElection(t *testing.T) {
	spec := specOf(weigh(50), Step{Elections: []string{"e0", own}}, weigh(100))
	_, err := Explain(spec, Seen{Own: own, Elections: []Election{{Name: "e0"}, {Name: own}}})
	const want = `steps[1].elections[1]: "rollout-edge" is the controller's own election (leave it out: it moves last, by itself)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
