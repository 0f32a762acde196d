package app

import (
	"fmt"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// effect is what a change does, as shown to people and in JSON. Fields are added, never renamed.
type effect struct {
	// What describes the change in words.
	What string `json:"what"`
	// Elections are the elections whose preference changes.
	Elections []movement `json:"elections,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"`
	// Notes say what we could not see.
	Notes   []string `json:"notes,omitempty"`
	DryRun  bool     `json:"dryRun,omitempty"`
	Changed bool     `json:"changed"`
	// waits says that the change waits for members, so that people see the warnings before it.
	waits bool
}

// movement is what happens to one election.
type movement struct {
	Election string `json:"election"`
	// Before and After are the election's preferences.
	Before string `json:"before"`
	After  string `json:"after"`
	Holder string `json:"holder,omitempty"`
	// Stays says that the holder is preferred, or that no better member is ready.
	Stays bool `json:"stays"`
	// Candidates are the members of which one will lead; empty if leadership stays.
	Candidates []string `json:"candidates,omitempty"`
	// Absent says that no ready member matches the preference.
	Absent bool `json:"absent,omitempty"`
	// Forced says that the preference stays as it is, and the holder is asked through its lock.
	Forced bool `json:"forced,omitempty"`
	// lacked says that no ready member matched the earlier preference either.
	lacked bool
	// Ignores says that the election's policy does not look at revisions.
	Ignores bool `json:"ignores,omitempty"`
	// NotBefore is the earliest time of the move, delayed by minHold, by preemptDelay, by the range, or
	// by a recent fall of the next leader; zero if leadership moves at once.
	NotBefore time.Time `json:"notBefore,omitzero"`
}

// moved applies an election's rules to a change of its preference.
func moved(r status.Report, e status.Election, was, is record.Preferred, x rules) movement {
	e = freed(e)
	m := movement{Election: e.Name, Before: was.String(), After: is.String(), Holder: e.Holder}
	next := x.next(r, e, is)
	if is.NoTakeover && e.Holder == "" {
		next = nil
	}
	m.Candidates = identities(next)
	if m.Stays = next == nil; !m.Stays {
		m.NotBefore = x.notBefore(e, next[0], is.Blocked, r.At)
	}
	m.Ignores = is.Member == "" && !priority.FollowsRevision(x.policy)
	m.Absent, m.lacked = x.lacks(r, e, is), x.lacks(r, e, was)
	return m
}

// lacks says whether no ready member matches what an election prefers. A drained member matches nothing.
func (x rules) lacks(r status.Report, e status.Election, preferred record.Preferred) bool {
	fits := func(m status.Member) bool { return m.Revision == preferred.Revision }
	switch {
	case preferred.Member != "":
		fits = func(m status.Member) bool { return preferred.Pins(m.Identity) }
	case preferred.State != record.PreferredSet || !priority.FollowsRevision(x.policy):
		return false
	}
	return !x.has(r, e, func(m status.Member) bool { return fits(m) && !preferred.Drains(m.Identity) })
}

// moves says which leadership will move, as a question to a person; empty if none will move.
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

// question is the question to ask before the change: about leadership that moves, else about warnings;
// empty if there is nothing to ask.
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
	return b.String() + f.details()
}

// mostStaying is how many elections that stay with their holders the text lists. It only counts more of them.
const mostStaying = 5

// details are the elections, the warnings and the notes.
func (f effect) details() string {
	var b strings.Builder
	staying := 0
	for _, m := range f.Elections {
		if m.Stays {
			staying++
		}
	}
	for _, m := range f.Elections {
		if !m.Stays || staying <= mostStaying {
			fmt.Fprintln(&b, m.text())
		}
	}
	if staying > mostStaying {
		fmt.Fprintf(&b, "%d elections stay with their holders (-o json lists them)\n", staying)
	}
	for _, w := range f.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, n := range f.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// aside puts the words after a preferred revision in brackets, since more follows in the line.
func aside(preferred string) string {
	revision, more, found := strings.Cut(preferred, ", ")
	if !found {
		return preferred
	}
	return revision + " (" + more + ")"
}

// text is the movement in one line.
func (m movement) text() string {
	holder := m.Holder
	if holder == "" {
		holder = "nobody"
	}
	if m.Forced {
		return fmt.Sprintf("%s moves from %s to %s as soon as %s has stopped its work, whatever it sees as preferred", m.Election, holder, m.Candidates[0], holder)
	}
	line := fmt.Sprintf("%s prefers %s instead of %s: ", m.Election, aside(m.After), aside(m.Before))
	switch {
	case m.Ignores:
		line += "its policy does not look at revisions, so "
	case m.Absent:
		line += "no such member is ready, so "
	}
	if !m.NotBefore.IsZero() {
		line += "not before " + m.NotBefore.Format(time.RFC3339) + ", for its timing, "
	}
	switch {
	case m.Stays && m.Holder == "":
		return line + "it stays without a leader"
	case m.Stays:
		return line + "it stays with " + holder
	case len(m.Candidates) == 1:
		return line + fmt.Sprintf("it moves from %s to %s", holder, m.Candidates[0])
	}
	return line + fmt.Sprintf("it moves from %s to one of %s", holder, strings.Join(m.Candidates, ", "))
}
