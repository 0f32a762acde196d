package app

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// verdictWords are the verdicts for people.
var verdictWords = map[verdict]string{
	verdictRight: "as it should be",
	verdictSoon:  "not yet as it should be, but it will be by itself",
	verdictStuck: "not as it should be, and that does not end by itself",
}

// text is the explanation for people.
func (e explanation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (group %s, %s): %s\n", e.Election, e.Group, e.Lock, verdictWords[e.Verdict])
	fmt.Fprintf(&b, "\n%s\n", e.Summary)
	fmt.Fprintf(&b, "\nholder        %s\n", e.holder())
	for i, t := range e.Last {
		label := "              "
		if i == 0 {
			label = "last changes  "
		}
		fmt.Fprintf(&b, "%s%s %s %s", label, t.At.UTC().Format(time.RFC3339), t.Who, t.Why)
		if meaning := t.Meaning(); meaning != "" {
			fmt.Fprintf(&b, " (%s)", meaning)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "prefers       %s: %s\n", aside(e.Prefers), e.From)
	b.WriteString("\nWhat would change this:\n")
	for _, c := range e.Changes {
		fmt.Fprintf(&b, "- %s%s\n", c.What, by(c.By, e.At))
	}
	b.WriteString("\nMembers, in the order in which they would take the free lock:\n")
	for _, m := range e.Members {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", m.Rank, m.text(), m.Why)
	}
	if len(e.Members) == 0 {
		b.WriteString("none\n")
	}
	for _, n := range e.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// holder is who holds the lock, since when.
func (e explanation) holder() string {
	l := e.Leader
	if l == nil {
		return "nobody"
	}
	parts := []string{l.Identity}
	if l.Revision != "" {
		parts = append(parts, "revision "+l.Revision, l.Location)
	}
	if l.Token != 0 {
		parts = append(parts, fmt.Sprintf("token %d", l.Token))
	}
	if !l.Since.IsZero() {
		parts = append(parts, fmt.Sprintf("since %s (for %s)", l.Since.UTC().Format(time.RFC3339), duration.HumanDuration(max(0, e.At.Sub(l.Since)))))
	}
	return strings.Join(parts, ", ")
}

// by says when something happens at the latest.
func by(at, now time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case !at.After(now):
		return fmt.Sprintf(": at any moment (due since %s)", at.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf(": in about %s at the latest, at %s", duration.HumanDuration(at.Sub(now).Round(time.Second)), at.UTC().Format(time.RFC3339))
}

// text is what a member says of itself, on one line.
func (m memberReasons) text() string {
	parts := []string{m.Identity}
	if m.Revision != "" {
		parts = append(parts, "revision "+m.Revision, m.Location, fmt.Sprintf("weight %d", m.Weight))
	}
	state := string(m.State)
	if m.State == status.Stale {
		state = "not renewed"
	}
	parts = append(parts, state)
	if m.Ready {
		parts = append(parts, "ready")
	} else {
		parts = append(parts, "not ready")
	}
	if m.Standing {
		parts = append(parts, "in good standing")
	} else {
		parts = append(parts, "not in good standing")
	}
	if m.Sees != "" {
		sees := "sees " + m.Sees
		if m.Differs {
			sees += " (another preference is stored)"
		}
		parts = append(parts, sees)
	}
	return strings.Join(parts, ", ")
}
