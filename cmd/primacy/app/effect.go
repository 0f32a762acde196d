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
func (s *steerCommand) moved(e status.Election, was, is record.Preferred) movement {
	m := movement{Election: e.Name, Before: was.String(), After: is.String(), Holder: e.Holder, Stays: true}
	fits := func(identity, revision string) bool {
		if is.Member != "" {
			return is.Pins(identity)
		}
		return is.State == record.PreferredSet && revision == is.Revision
	}
	for _, member := range s.report.Members {
		if member.Group == s.group && member.State == status.Live && member.Ready && fits(member.Identity, member.Revision) &&
			!slices.Contains(member.Standing, e.Name) {
			m.Candidates = append(m.Candidates, member.Identity)
		}
	}
	wanted := is.State == record.PreferredSet || is.Member != ""
	m.Absent = wanted && m.Candidates == nil
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
		holder := m.Holder
		if holder == "" {
			holder = "nobody"
		}
		fmt.Fprintf(&b, "%s prefers %s instead of %s: ", m.Election, m.After, m.Before)
		switch {
		case m.Absent:
			fmt.Fprintf(&b, "no such member is ready, so it stays with %s\n", holder)
		case m.Stays:
			fmt.Fprintf(&b, "it stays with %s\n", holder)
		case len(m.Candidates) == 1:
			fmt.Fprintf(&b, "it moves from %s to %s\n", holder, m.Candidates[0])
		default:
			fmt.Fprintf(&b, "it moves from %s to one of %s\n", holder, strings.Join(m.Candidates, ", "))
		}
	}
	for _, w := range f.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}
