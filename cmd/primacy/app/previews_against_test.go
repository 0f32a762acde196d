package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// change is one election before and after a change of the document.
type change struct {
	name, before, after string // before and after: the other fields of the entry; empty if the election is absent
}

// alone says whether each member works by itself in an election with the given fields.
func alone(fields string) bool { return strings.Contains(fields, "enabled: false") }

func (c change) line(fields string) string {
	if fields == "" {
		return ""
	}
	return fmt.Sprintf("- {name: %s, bootstrap: immediate, %srunners: [{name: w, work: {as: %s, alone: %v}}]}\n",
		c.name, strings.ReplaceAll(fields, "NAME", c.name), c.name, alone(fields))
}

// work is the name in the journal of a member's work in an election with the given fields.
func (c change) work(fields, member string) string {
	if alone(fields) {
		return c.name + " of " + member
	}
	return c.name
}

// changesOfKinds are all changes of an election from one kind to another and from one policy to another,
// and its removal and addition.
func changesOfKinds() (all []change) {
	const usual = "priority: {policy: revision-location}, "
	for i, from := range previewedKinds {
		all = append(all,
			change{fmt.Sprintf("k%d-gone", i), from.fields + usual, ""},
			change{fmt.Sprintf("k%d-new", i), "", from.fields + usual})
		for j, to := range previewedKinds {
			all = append(all, change{fmt.Sprintf("k%d-k%d", i, j), from.fields + usual, to.fields + usual})
		}
		for j, to := range previewedPolicies {
			all = append(all, change{fmt.Sprintf("k%d-p%d", i, j), from.fields + usual, from.fields + "priority: {" + to.fields + "}, "})
		}
	}
	return all
}

const againstHead = "group: edge\nmember: {revision: red}\ntiming: {profile: fast}\nelections:\n"

// documents are a document with all elections, and the same with some of them changed.
func documents(all, changed []change) (before, after string) {
	before, after = againstHead, againstHead
	for _, c := range all {
		before += c.line(c.before)
		if slices.Contains(changed, c) {
			after += c.line(c.after)
		} else {
			after += c.line(c.before)
		}
	}
	return before, after
}

// against is the output of `validate --against`; the error is its refusal.
func (b *bubble) against(before, after string) (text string, err error) {
	b.t.Helper()
	inForce := filepath.Join(b.dir, "in-force.yaml")
	if err := os.WriteFile(inForce, []byte(bubbleHead+before), 0o600); err != nil {
		b.t.Fatal(err)
	}
	a := add(nil)
	a.runners.Register("work", b.workKind("nobody"))
	var out bytes.Buffer
	err = a.validate(context.Background(), strings.NewReader(bubbleHead+after), &out, validation{file: "-", inForce: inForce, members: 3})
	return out.String(), err
}

// verbs are the verbs, such as "keeps", that the text of `validate --against` has for each election.
func verbs(text string) map[string]string {
	all := map[string]string{}
	for _, l := range strings.Split(text, "\n") {
		fields := strings.Fields(l)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "adds", "exchanges", "removes":
			all[strings.TrimSuffix(fields[1], "-red")] += fields[0]
		case "keeps":
			names, _, _ := strings.Cut(strings.Join(fields[2:], ""), ":")
			for _, name := range strings.Split(names, ",") {
				all[strings.TrimSuffix(name, "-red")] = "keeps"
			}
		}
	}
	return all
}

// promised says what each verb means for the work of the leader.
var promised = map[string]string{
	"keeps":       "its work goes on",
	"exchanges":   "its work stops; then somebody works again",
	"removes":     "its work stops, and nobody of this document works",
	"adds":        "somebody works",
	"addsremoves": "its work stops; then somebody works again",
}

// TestAgainstEqualsWhatHappens checks that members do with a changed document what `validate --against`
// says, for each change from one kind of election to another. If the command refuses the document, members
// refuse it, too, and go on as before.
func TestAgainstEqualsWhatHappens(t *testing.T) {
	if underRace {
		t.Skip("make test-long runs it without the race detector; TestScripts/validate and the tests of reload run its code with it")
	}
	y := &tally{t: t}
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		all := changesOfKinds()
		var possible []change
		refused := map[change]bool{}
		for _, c := range all {
			one := []change{c}
			before, after := documents(one, one)
			if c.before == "" || c.after == "" { // the document needs one more election
				before, after = before+"- {name: other}\n", after+"- {name: other}\n"
			}
			if _, err := b.against(before, after); err != nil {
				refused[c] = true
				continue
			}
			possible = append(possible, c)
		}
		if len(refused) == 0 || len(possible) == 0 {
			t.Fatalf("%d are refused, %d are possible", len(refused), len(possible))
		}
		before, after := documents(all, possible)
		m1 := b.start("m1", before)
		wait(20 * time.Second)
		m2 := b.start("m2", before)
		wait(20 * time.Second)
		for _, c := range all {
			if refused[c] {
				_, wrong := documents(all, []change{c})
				inForce := m1.reloads.inForce
				done := "is refused"
				if err := m1.reload(wrong); err == nil || m1.reloads.inForce != inForce {
					done = fmt.Sprintf("is taken up: %v", err)
				}
				y.row(c.name, c.words(), "is refused", done)
			}
		}
		text, err := b.against(before, after)
		if err != nil {
			t.Fatal(err)
		}
		said := verbs(text)
		since := time.Now()
		for _, m := range []*follower{m1, m2} {
			if err := m.reload(after); err != nil {
				t.Fatal(err)
			}
			wait(30 * time.Second)
		}
		for _, c := range possible {
			y.row(c.name, c.words(), promised[said[c.name]], b.journal.became(c, since))
		}
		b.journal.work = map[string][]*stretch{} // forgets overlaps: some of these changes let two work at once, and say so
		b.end(m1, m2)
	})
	y.close()
}

// words describe the change.
func (c change) words() string {
	clean := func(fields string) string { return "{" + strings.TrimSuffix(fields, ", ") + "}" }
	return "validate --against: " + clean(c.before) + " to " + clean(c.after)
}

// became is what happened to the work of a change's election since then, on member m1 and on all.
func (j *journal) became(c change, since time.Time) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	was, stopped, works := false, false, false
	for _, s := range j.work[c.work(c.before, "m1")] {
		if s.member == "m1" && s.from.Before(since) && (s.till.IsZero() || !s.till.Before(since)) {
			was, stopped = true, !s.till.IsZero()
		}
	}
	for _, m := range []string{"m1", "m2"} {
		for _, s := range j.work[c.work(c.after, m)] {
			works = works || s.till.IsZero()
		}
	}
	switch {
	case was && !stopped && works:
		return "its work goes on"
	case was && stopped && works:
		return "its work stops; then somebody works again"
	case was && stopped:
		return "its work stops, and nobody of this document works"
	case !was && works:
		return "somebody works"
	}
	return fmt.Sprintf("worked before: %v, stopped: %v, somebody works: %v", was, stopped, works)
}
