package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// effect is what a change does, as it is shown. Fields are added, never renamed.
type effect struct {
	// What is the change in words.
	What string `json:"what"`
	// Elections are those that prefer something else afterwards.
	Elections []movement `json:"elections,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"`
	DryRun    bool       `json:"dryRun,omitempty"`
	Changed   bool       `json:"changed"`
}

// movement is what becomes of one election.
type movement struct {
	Election string `json:"election"`
	// Before and After are what is preferred.
	Before string `json:"before"`
	After  string `json:"after"`
	Holder string `json:"holder,omitempty"`
	// Stays says that the holder is one that is preferred, or that nobody better is ready.
	Stays bool `json:"stays"`
	// Candidates are the ready members that are preferred.
	Candidates []string `json:"candidates,omitempty"`
	// Absent says that something is preferred, and no ready member has it.
	Absent bool `json:"absent,omitempty"`
}

// moved says what becomes of an election, if its policy looks at revisions first.
func moved(r status.Report, e status.Election, was, is record.Preferred) movement {
	m := movement{Election: e.Name, Before: was.String(), After: is.String(), Holder: e.Holder}
	ready := func(fits func(identity, revision string) bool) (identities []string) {
		for _, member := range r.Members {
			if member.Group == e.Group && member.State == status.Live && member.Ready && fits(member.Identity, member.Revision) &&
				!slices.Contains(member.Standing, e.Name) {
				identities = append(identities, member.Identity)
			}
		}
		return identities
	}
	pinned := func(identity, _ string) bool { return is.Pins(identity) }
	fits := func(_, revision string) bool { return is.State == record.PreferredSet && revision == is.Revision }
	if is.Member != "" {
		m.Candidates = ready(pinned)
		m.Absent = m.Candidates == nil
	}
	switch {
	case m.Candidates != nil:
		fits = pinned
	case e.Holder != "" && pinned(e.Holder, e.Revision): // nobody comes before it, ready or not
		m.Stays = true
		return m
	default: // where the pinned member is not ready, all is as without the pin
		m.Candidates = ready(fits)
		m.Absent = m.Absent || is.State == record.PreferredSet && m.Candidates == nil
	}
	m.Stays = m.Candidates == nil || e.Holder != "" && fits(e.Holder, e.Revision)
	return m
}

// moves asks about leadership that moves; empty if none does.
func (f effect) moves() string {
	var names []string
	for _, m := range f.Elections {
		if !m.Stays {
			names = append(names, m.Election)
		}
	}
	const shown = 5
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return fmt.Sprintf("%s: leadership of %s will move", f.What, names[0])
	case n > shown:
		return fmt.Sprintf("%s: leadership of %d elections will move: %s, ...", f.What, n, strings.Join(names[:shown], ", "))
	default:
		return fmt.Sprintf("%s: leadership of %d elections will move: %s", f.What, n, strings.Join(names, ", "))
	}
}

// question is what is asked before it is done: about leadership that moves, and where
// a warning stands; empty if there is nothing to ask.
func (f effect) question() string {
	switch moves := f.moves(); {
	case moves != "":
		return moves
	case len(f.Warnings) > 0:
		return f.What + ", in spite of: " + strings.Join(f.Warnings, "; ")
	}
	return ""
}

// text is the effect for people.
func (f effect) text() string {
	var b strings.Builder
	switch {
	case f.DryRun:
		fmt.Fprintf(&b, "%s (not done: --dry-run)\n", f.What)
	case f.Changed:
		fmt.Fprintf(&b, "%s: done\n", f.What)
	default:
		fmt.Fprintln(&b, f.What)
	}
	for _, m := range f.Elections {
		fmt.Fprintln(&b, m.text())
	}
	for _, w := range f.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

// text is the movement in one line.
func (m movement) text() string {
	holder := m.Holder
	if holder == "" {
		holder = "nobody"
	}
	line := fmt.Sprintf("%s prefers %s instead of %s: ", m.Election, m.After, m.Before)
	if m.Absent {
		line += "no such member is ready, so "
	}
	switch {
	case m.Stays:
		return line + "it stays with " + holder
	case len(m.Candidates) == 1:
		return line + fmt.Sprintf("it moves from %s to %s", holder, m.Candidates[0])
	}
	return line + fmt.Sprintf("it moves from %s to one of %s", holder, strings.Join(m.Candidates, ", "))
}
