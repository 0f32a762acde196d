package app

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/primacy-dev/primacy/config"
)

// against says, for people, what a member does when its configuration is replaced: a line for
// each change, one for the rights that it needs then and did not need before, and one for everything that stays.
func against(p *config.Plan, rights, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "a member with configuration %s in force that takes this one up:\n", file)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(verb, what, text string) { fmt.Fprintf(w, "%s\t%s\t%s\n", verb, what, text) }
	for _, s := range p.Steps {
		switch s.Verb {
		case config.Add:
			line("adds", s.Election, "it takes part from now on")
		case config.Exchange:
			line("exchanges", s.Election, "for "+strings.Join(s.Fields, ", ")+": if it leads, its work stops and its lock is released; then it takes part anew")
		case config.Relabel:
			line("relabels", s.Election, "its leader's Pod gets its label, or loses it; nothing stops")
		case config.Remove:
			line("removes", s.Election, "if it leads, its work stops and its lock is released")
		}
		for _, note := range s.Notes {
			line("", "", note)
		}
	}
	if p.DefaultRevision {
		line("follows", "defaultRevision", "another source of the preferred revision from now on; leadership moves where it says so")
	}
	for _, r := range p.Restarts {
		line("waits", r.Field, r.Text()+": a restart takes it up")
	}
	if rights != "" {
		line("needs", "rights", rights+": a member that lacks one of them refuses all of this (primacy check --pre, with the credentials of members, asks for them)")
	}
	if p.None() {
		line("changes", "nothing", "")
	} else if kept := p.Named(config.Keep); kept != nil {
		line("keeps", fmt.Sprint(len(kept)), strings.Join(kept, ", ")+": nothing stops")
	}
	_ = w.Flush() // a strings.Builder never fails to write
	return trimmed(b.String())
}

// trimmed is text without trailing blanks in its lines.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// restarts names the fields that wait for a restart, with their values; empty if no field waits.
func restarts(all []config.Restart) string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.Field + ": " + r.Text()
	}
	return strings.Join(texts, "; ")
}
