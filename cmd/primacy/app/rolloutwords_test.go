package app

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// planAt is a plan whose rollout is in the given phase, at the given step.
func planAt(phase rollout.Phase, step int) rollout.Plan {
	spec := rollout.Spec{UID: "0123456789abcdef", Generation: 3, Stable: "a", Canary: "b", Steps: []rollout.Step{{SetWeight: 50}, {SetWeight: 100}}}
	return rollout.Plan{Rollout: &spec, Status: &rollout.Status{UID: spec.UID, Stable: "a", Canary: "b", Phase: phase, Step: step}}
}

// TestWordsHoldForWhatWasShown checks which words are refused if, between the look and the write, another
// operator has changed the rollout or the controller has gone on.
func TestWordsHoldForWhatWasShown(t *testing.T) {
	words := map[string]word{}
	for _, w := range rolloutWords() {
		words[w.use] = w
	}
	words["promote --full"] = *words["promote"].full
	said := func(p rollout.Plan, name string) rollout.Plan {
		t.Helper()
		p, err := words[name].obey(p, p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return p
	}
	another := planAt(rollout.Progressing, 1)
	another.Rollout.UID, another.Status.UID = "fedcba9876543210", "fedcba9876543210"
	degraded, first, paused := planAt(rollout.Degraded, 1), planAt(rollout.Progressing, 1), said(planAt(rollout.Progressing, 1), "pause")
	for _, tt := range []struct {
		word       string
		shown, now rollout.Plan
		want       string // part of the error; empty for none
	}{
		{"retry", degraded, degraded, ""},
		{"retry", degraded, said(degraded, "abort"), "cannot retry: the rollout has changed meanwhile: it is Aborted now (look again: primacy rollout status)"},
		{"retry", degraded, planAt(rollout.RolledBack, 1), "it is RolledBack now"},
		{"retry", said(degraded, "abort"), said(said(degraded, "abort"), "abort"), "it is Aborted now"},
		{"promote", first, first, ""},
		{"promote", first, planAt(rollout.Progressing, 2), "cannot promote: the rollout is at step 2 now, and not at step 1 (look again: primacy rollout status)"},
		{"promote", first, planAt(rollout.Paused, 1), "it is Paused now"},
		{"promote", first, paused, "the rollout has changed meanwhile"},
		{"promote", first, another, "cannot promote: another rollout has begun meanwhile"},
		{"promote --full", first, paused, "the rollout has changed meanwhile"},
		{"promote --full", first, planAt(rollout.Progressing, 2), ""},
		{"resume", paused, said(paused, "promote"), "the rollout has changed meanwhile"},
		{"resume", paused, paused, ""},
		{"resume", planAt(rollout.Paused, 1), planAt(rollout.Paused, 1), "cannot resume: nobody paused the rollout: it is Paused (primacy rollout promote goes on to the next step)"},
		{"pause", first, planAt(rollout.Analysing, 2), ""},
		{"abort", first, paused, ""},
		{"abort", first, planAt(rollout.Degraded, 2), ""},
		{"abort", first, another, "cannot abort: another rollout has begun meanwhile: it is Progressing now"},
	} {
		next, err := words[tt.word].after(tt.shown)(tt.now)
		if tt.want == "" && err == nil {
			continue
		}
		if got := message(err); tt.want == "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s of %s at %s: %q, want %q; %+v", tt.word, tt.shown.Phase(), tt.now.Phase(), got, tt.want, next.Rollout)
		}
	}
}

// TestEndDoesNotBringTheCanaryBack checks that no rollout is ended while a living member of its group sees its canary as
// the default, or while nobody shows a default.
func TestEndDoesNotBringTheCanaryBack(t *testing.T) {
	live := func(preference string) status.Member {
		return status.Member{Identity: "m_1", Group: "edge", State: status.Live, Preference: preference}
	}
	other, dead := live("b"), live("b")
	other.Group, dead.State = "other", status.Stale
	for what, tt := range map[string]struct {
		members []status.Member
		want    string // part of the error; empty for none
	}{
		"the default is another": {[]status.Member{live("c +digest"), live("c"), other, dead}, ""},
		"one sees the canary":    {[]status.Member{live("c +digest"), live("b +digest")}, "primacy revision set a"},
		"nobody lives":           {[]status.Member{other, dead}, "no member lives"},
	} {
		err := wouldReturn(prospect{shown: planAt(rollout.Aborted, 1), group: "edge", report: status.Report{Members: tt.members}})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", what, err, tt.want)
		}
	}
}

// TestRetrySaysWhatGoesBack checks that the question before a retry of a rollout whose status cannot be read says how many
// elections go back at once. After an abort nothing does.
func TestRetrySaysWhatGoesBack(t *testing.T) {
	promoted := planAt(rollout.Promoted, 2)
	spec := promoted.Rollout.WithDefaults()
	spec.StartedAt, spec.AcquireTimeout = rollout.At(noon), time.Minute
	promoted.Rollout, promoted.Status.Began, promoted.Status.StepStarted = &spec, spec.StartedAt, spec.StartedAt
	data, err := promoted.Encode()
	if err != nil {
		t.Fatal(err)
	}
	data[rollout.KeyStatus] += "\nextra: 1\n" // an edit by hand
	edited, _ := rollout.Read(data, rollout.Plan{})
	aborted, err := promoted.Abort()
	if err != nil {
		t.Fatal(err)
	}
	member := func(host, revision string) status.Member {
		return status.Member{Identity: host + "_00000001", Group: "edge", State: status.Live, Ready: true, Revision: revision, Location: "local", Preference: "a +0"}
	}
	led := func(host, revision string) status.Election {
		return status.Election{Name: "web", Group: "edge", Lock: "web", Kind: status.Lease, State: status.Led, Holder: host + "_00000001", Revision: revision, Location: "local"}
	}
	down := member("new", "b")
	down.Standing = []string{"dns", "web"}
	down.Lacks = map[string]string{"dns": "its disk"}
	for what, tt := range map[string]struct {
		shown  rollout.Plan
		leads  status.Election
		canary status.Member
		want   string
	}{
		"its work failed":          {aborted, led("old", "a"), down, "the rollout goes on: 0 of 1 elections move to b, step by step; but new_00000001 is not in good standing for web: if its work failed there, that counts as a failure again (restart it first, or wait until primacy status shows it in good standing)"},
		"the status is unreadable": {edited, led("new", "b"), member("new", "b"), "1 of 1 elections go back from b to a, at once; then the rollout begins anew: 1 of 1 elections move to b, step by step"},
		"it was aborted":           {aborted, led("old", "a"), member("new", "b"), "the rollout goes on: 1 of 1 elections move to b, step by step"},
	} {
		next, err := tt.shown.Retry()
		if err != nil {
			t.Fatal(err)
		}
		report := status.Report{Elections: []status.Election{tt.leads}, Members: []status.Member{tt.canary, member("old", "a")}}
		if got := theWord("retry").moves(prospect{shown: tt.shown, next: next, report: report, group: "edge"}); got != tt.want {
			t.Errorf("%s: %q, want %q", what, got, tt.want)
		}
	}
}

// theWord returns a word by its name.
func theWord(use string) word {
	words := rolloutWords()
	return words[slices.IndexFunc(words, func(w word) bool { return w.use == use })]
}

// TestGoingBackSaysWhenItEnds checks that the question before an abort says so if a member of stable must first prove itself.
func TestGoingBackSaysWhenItEnds(t *testing.T) {
	shown := planAt(rollout.Promoted, 2)
	next, err := shown.Abort()
	if err != nil {
		t.Fatal(err)
	}
	member := func(host, revision string) status.Member {
		return status.Member{Identity: host + "_00000001", Group: "edge", State: status.Live, Ready: true, Revision: revision, Location: "local", Preference: "a +0"}
	}
	fell := member("old", "a")
	fell.Fallen, fell.Since = 1, noon
	for name, tt := range map[string]struct {
		stable status.Member
		want   string
	}{
		"it is proven": {member("old", "a"), "1 of 1 elections go back from b to a, at once"},
		"it fell":      {fell, "1 of 1 elections go back from b to a, at once, the last of them not before " + noon.Add(time.Minute).Format(time.RFC3339) + ", for its timing (primacy explain says more)"},
	} {
		report := status.Report{At: noon, Members: []status.Member{member("new", "b"), tt.stable}, Elections: []status.Election{
			{Name: "web", Group: "edge", Lock: "web", Kind: status.Lease, State: status.Led, Holder: "new_00000001", Revision: "b", Location: "local"},
		}}
		p := prospect{shown: shown, next: next, report: report, group: "edge", rulebook: rulebook{configured: true, of: map[string]rules{"web": {standDown: time.Minute}}}}
		if got := goBack(p); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
