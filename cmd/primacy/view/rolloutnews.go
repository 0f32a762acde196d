package view

import (
	"fmt"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// RolloutNews finds out what happened to a rollout between one look and the next. The zero
// RolloutNews has looked at none, and reports nothing at the first look.
type RolloutNews struct {
	begun bool
	last  Rollout
	group News
}

// Since says what happened since the last look, in lines for people.
func (n *RolloutNews) Since(v Rollout) (lines []string) {
	if n.begun {
		lines = v.news(n.last)
	}
	n.begun, n.last = true, v
	r := status.Report{At: v.At, Members: v.Members}
	for _, e := range v.Elections {
		r.Elections = append(r.Elections, e.Election)
	}
	return append(lines, n.group.Since(r)...)
}

func (v Rollout) news(last Rollout) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if text := TurnedOld(last.AsOf, v.AsOf, v.At); text != "" {
		say("%s", text)
	}
	if v.UID != last.UID {
		if v.UID == "" {
			return append(lines, "there is no rollout any more")
		}
		say("rollout from %s to %s", v.Stable, v.Canary)
		last = Rollout{Group: last.Group}
	}
	if v.Step != last.Step && v.Step > 0 && v.Step <= len(v.Steps) {
		say("step %d of %d: %s", v.Step, len(v.Steps), v.Steps[v.Step-1].What)
	}
	if v.Phase != last.Phase {
		say("%s", v.Phase)
	}
	if v.Weight != last.Weight {
		say("weight: set %d %%, actual %d %% (%d of %d)", v.Weight.Set, v.Weight.Actual, v.Weight.Led, v.Weight.All)
	}
	for _, c := range v.Checks {
		for _, f := range c.Failures {
			if !last.knows(c.Name, f) {
				say("check %s: %s", c.Name, f.text())
			}
		}
	}
	if v.Message != last.Message && v.Message != "" {
		say("%s", v.Message)
	}
	for _, line := range v.Standing {
		if !slices.Contains(last.Standing, line) {
			lines = append(lines, line)
		}
	}
	for _, line := range last.Standing {
		if !slices.Contains(v.Standing, line) {
			lines = append(lines, "no longer: "+line)
		}
	}
	for _, p := range v.Problems {
		if !slices.Contains(last.Problems, p) {
			say("%s", p)
		}
	}
	return lines
}

func (v Rollout) knows(check string, f Failure) bool {
	return slices.ContainsFunc(v.Checks, func(c Check) bool { return c.Name == check && slices.Contains(c.Failures, f) })
}
