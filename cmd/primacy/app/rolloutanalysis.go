package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/all"
)

// analysis is what a rollout would do. The names of its fields are stable.
type analysis struct {
	DryRun bool   `json:"dryRun"`
	Group  string `json:"group"`
	UID    string `json:"uid"`
	Stable string `json:"stable"`
	Canary string `json:"canary"`
	// AtOnce are elections whose preference changes as soon as the rollout is stored, before
	// its first step: from then on all elections prefer the stable revision.
	AtOnce []movement `json:"atOnce,omitempty"`
	// Steps are all steps, each with the elections that it moves.
	Steps []stepMoves `json:"steps"`
	// The rollout leaves Pinned elections alone. Elections in Absent have no ready member of the canary.
	Pinned []string `json:"pinned,omitempty"`
	// Elections in Ignoring have a policy that does not look at revisions; the rollout leaves them alone, too.
	Ignoring []string `json:"ignoring,omitempty"`
	Absent   []string `json:"absent,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// stepMoves is one step, and the elections that it moves.
type stepMoves struct {
	Number int         `json:"number"`
	What   string      `json:"what"`
	Moves  []moveShown `json:"moves,omitempty"`
}

// moveShown is one election's move. From is empty if nobody leads, To if no member of the
// canary is ready. Or lists members that are as likely to lead as To.
type moveShown struct {
	Election string   `json:"election"`
	From     string   `json:"from,omitempty"`
	To       string   `json:"to,omitempty"`
	Or       []string `json:"or,omitempty"`
}

// to names the members that may lead next.
func (m moveShown) to() string {
	if m.To == "" {
		return "nobody is ready; it stays"
	}
	text := view.NameOf(m.To)
	for _, or := range m.Or {
		text += " or " + view.NameOf(or)
	}
	return text
}

func analyse(spec rollout.Spec, seen rollout.Seen) (analysis, error) {
	a := analysis{UID: spec.UID, Stable: spec.Stable, Canary: spec.Canary}
	explained, err := rollout.Explain(spec, seen)
	if err != nil {
		return a, fmt.Errorf("cannot start a rollout: %w", err)
	}
	if err := all.Registry().Validate(spec); err != nil {
		return a, fmt.Errorf("cannot start a rollout: %w", err)
	}
	a.Pinned, a.Absent, a.Ignoring = explained.Pinned, explained.Absent, explained.Ignoring
	for i, step := range spec.Steps {
		shown := stepMoves{Number: i + 1, What: view.StepText(step)}
		for _, s := range explained.Steps {
			if s.Step != shown.Number {
				continue
			}
			for _, m := range s.Moves {
				shown.Moves = append(shown.Moves, moveShown{Election: m.Election, From: m.From, To: m.To})
			}
		}
		a.Steps = append(a.Steps, shown)
	}
	led := func(e rollout.Election) bool { return e.Name == seen.Own && e.Holder != "" }
	if !slices.ContainsFunc(seen.Elections, led) {
		a.Notes = append(a.Notes, "no controller is at work: no step begins before election "+seen.Own+" is led")
	}
	if leadsNothing(seen, spec.Canary) {
		a.Notes = append(a.Notes, "no member of "+spec.Canary+" could lead any of the elections now, so the first step that moves some does not end before one can (are its programs ready? primacy status tells)")
	}
	return a, nil
}

// leadsNothing says whether there are elections that the rollout moves, besides the controller's own, and no member of the canary leads
// or could lead one of them.
func leadsNothing(seen rollout.Seen, canary string) bool {
	moved := slices.DeleteFunc(slices.Clone(seen.Elections), func(e rollout.Election) bool {
		return e.Name == seen.Own || e.Pinned || e.Follows == rollout.Ignores
	})
	return len(moved) > 0 && !slices.ContainsFunc(moved, func(e rollout.Election) bool { return e.Canary != "" || e.Revision == canary })
}

// spread fills in Or of each move: the members that are as likely to lead as To. equals lists all equally
// likely members for an election, To first.
func (a *analysis) spread(equals func(election string) []string) {
	for _, s := range a.Steps {
		for i, m := range s.Moves {
			if all := equals(m.Election); m.To != "" && len(all) > 1 {
				s.Moves[i].Or = all[1:]
			}
		}
	}
}

// moves counts the elections that will move.
func (a analysis) moves() (n int) {
	for _, s := range a.Steps {
		for _, m := range s.Moves {
			if m.To != "" {
				n++
			}
		}
	}
	return n
}

// question says how many of the given number of elections will move.
func (a analysis) question(elections int) string {
	question := fmt.Sprintf("%d of %d elections will move from %s to %s", a.moves(), elections, a.Stable, a.Canary)
	if len(a.AtOnce) == 0 {
		return question
	}
	moving := 0
	for _, m := range a.AtOnce {
		if !m.Stays {
			moving++
		}
	}
	return fmt.Sprintf("at once %d of %d elections prefer %s instead, and leadership of %d moves; then %s", len(a.AtOnce), elections, a.Stable, moving, question)
}

func (a analysis) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rollout of %s from %s to %s\n\n", a.Group, a.Stable, a.Canary)
	if len(a.AtOnce) > 0 {
		b.WriteString("at once\n")
		for _, m := range a.AtOnce {
			fmt.Fprintf(&b, "  %s\n", m.text())
		}
		b.WriteByte('\n')
	}
	var rows [][]string
	for _, s := range a.Steps {
		rows = append(rows, []string{fmt.Sprintf("step %d", s.Number), s.What})
		for _, m := range s.Moves {
			from := view.NameOf(m.From)
			if from == "" {
				from = "nobody"
			}
			rows = append(rows, []string{"", "  " + m.Election, from + " -> " + m.to()})
		}
	}
	b.WriteString(new(status.Aligner).Lines(rows) + "\n")
	list := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", what, strings.Join(names, ", "))
		}
	}
	list("pinned, left alone", a.Pinned)
	list("left alone, their policies do not look at revisions", a.Ignoring)
	list("no ready member of "+a.Canary, a.Absent)
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if a.DryRun {
		b.WriteString("nothing was changed (--dry-run); which elections a weight moves is drawn anew at the start\n")
	}
	return b.String()
}
