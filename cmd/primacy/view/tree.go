package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/charmbracelet/x/ansi"

	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// marks are the symbols before a line, by its state.
var marks = map[Progress]string{Done: "✔", Current: "▶", Later: "○", Failing: "✖"}

// styles are the styles of a line, by its state.
var styles = map[Progress]Style{Current: Fresh, Later: Dim, Failing: Bad}

// branch is one part of the tree: a heading, and rows below it.
type branch struct {
	heading string
	rows    [][]string
	styles  []Style
	least   int
}

func (b *branch) add(style Style, cells ...string) {
	b.rows, b.styles = append(b.rows, cells), append(b.styles, style)
}

// part draws a branch.
func (b branch) part(last position) Part {
	head, rail, least := "├─ ", "│  ", b.least
	if last == lowest {
		head, rail = "└─ ", "   "
	}
	p := Part{Lines: []string{head + Bold.Of(b.heading)}, Least: least, Joined: true, Rest: rail + "└─ "}
	lines := strings.Split(strings.TrimSuffix(new(status.Aligner).Lines(b.rows), "\n"), "\n")
	for i, l := range lines {
		twig := "├─ "
		if i == len(lines)-1 {
			twig = "└─ "
		}
		if s := b.styles[i]; s != "" {
			l = s.Of(l)
		}
		p.Lines = append(p.Lines, rail+twig+l)
	}
	return p
}

// position says whether another branch follows below.
type position int

const (
	upper position = iota
	lowest
)

// Title is the rollout in one line.
func (v Rollout) Title() string {
	if v.Canary == "" {
		return Bold.Of("rollout of "+v.Group) + "   none"
	}
	phase := string(v.Phase)
	switch {
	case v.Phase.Blocks() || v.Phase == rollout.Degraded:
		phase = Bad.Of(phase)
	case v.Phase == rollout.Promoted || v.Phase == rollout.Complete:
		phase = Fresh.Of(phase)
	}
	words := []string{Bold.Of("rollout of " + v.Group), v.Stable + " -> " + Bold.Of(v.Canary), phase}
	if v.Step > 0 {
		words = append(words, fmt.Sprintf("step %d of %d", v.Step, len(v.Steps)))
	}
	return strings.Join(append(words, fmt.Sprintf("weight: set %d %%, actual %d %% (%d of %d)", v.Weight.Set, v.Weight.Actual, v.Weight.Led, v.Weight.All)), "   ")
}

// Page is the rollout as a tree, for a terminal. events are the latest events.
func (v Rollout) Page(events, foot []string) Page {
	return Page{Title: v.Title(), Parts: v.parts(), Events: events, Foot: foot}
}

// WriteText writes the whole tree without styles.
func (v Rollout) WriteText(w io.Writer) error {
	lines := []string{v.Title()}
	for _, p := range v.parts() {
		lines = append(lines, p.Lines...)
	}
	_, err := fmt.Fprintln(w, ansi.Strip(strings.Join(lines, "\n")))
	return err
}

func (v Rollout) parts() (parts []Part) {
	var notes Part
	for _, line := range OldBy(v.AsOf, v.At) {
		notes.Lines = append(notes.Lines, "│  "+line)
	}
	for _, line := range v.Standing {
		notes.Lines = append(notes.Lines, "│  "+Bad.Of(line))
	}
	for _, p := range v.Problems {
		notes.Lines = append(notes.Lines, "│  "+Bad.Of(p))
	}
	if v.Message != "" {
		notes.Lines = append(notes.Lines, "│  "+v.Message)
	}
	if notes.Joined = true; len(notes.Lines) > 0 {
		parts = append(parts, notes)
	}
	var present []branch
	for _, b := range []branch{v.stepBranch(), v.electionBranch(), v.checkBranch(), v.memberBranch()} {
		if len(b.rows) > 0 {
			present = append(present, b)
		}
	}
	for i, b := range present {
		at := upper
		if i == len(present)-1 {
			at = lowest
		}
		parts = append(parts, b.part(at))
	}
	return parts
}

func (v Rollout) stepBranch() branch {
	b := branch{heading: "steps"}
	for _, s := range v.Steps {
		b.add(styles[s.State], marks[s.State], strconv.Itoa(s.Number), s.What, v.age(s.Since))
	}
	return b
}

func (v Rollout) electionBranch() branch {
	b := branch{heading: "elections", least: 4}
	for _, e := range v.Elections {
		state, style, token := string(e.Election.State), styles[e.State], "-"
		if e.Stale {
			state = "stale?"
		}
		if !Led(e.Election) {
			style = Bad
		}
		if e.Token != 0 {
			token = strconv.FormatUint(e.Token, 10)
		}
		b.add(style, marks[e.State], e.Name, dash(e.Holder), dash(e.Revision), state, token, v.age(e.Acquired), e.Move)
	}
	return b
}

func (v Rollout) checkBranch() branch {
	b := branch{heading: "checks"}
	for _, c := range v.Checks {
		b.add(styles[c.State], marks[c.State], c.Name, v.failures(c))
	}
	return b
}

// failures is a check's latest finding, and how many more there are.
func (v Rollout) failures(c Check) string {
	if len(c.Failures) == 0 {
		return "found nothing"
	}
	f := c.Failures[len(c.Failures)-1]
	text := fmt.Sprintf("%s (%s ago)", f.text(), v.age(f.At))
	if f.Forgiven {
		text += ", forgiven"
	}
	if more := len(c.Failures) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// text names the election and member, and what failed.
func (f Failure) text() string {
	var words []string
	for _, w := range []string{f.Election, NameOf(f.Member), f.What} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, ": ")
}

func (v Rollout) memberBranch() branch {
	b := branch{heading: "members", least: 3}
	for _, m := range v.Members {
		if m.State == status.Ended {
			continue
		}
		style, ready, state := Style(""), "ready", string(m.State)
		if m.State == status.Stale {
			state = "stale?"
		}
		if !m.Ready {
			ready = "not ready"
		}
		if m.State != status.Live || !m.Ready {
			style = Bad
		}
		which := ""
		switch m.Revision {
		case v.Stable:
			which = "stable"
		case v.Canary:
			which = "canary"
		}
		b.add(style, dash(m.Identity), dash(m.Revision), dash(which), state, ready, fmt.Sprintf("leads %d", m.Leads), m.Reason)
	}
	return b
}

// age is how long ago then was, for people; never negative, since clocks may differ a little.
func (v Rollout) age(then time.Time) string {
	if then.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, v.At.Sub(then)))
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
