package dev

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// How text is set off. The program that draws leaves out what the terminal cannot do.
const (
	bold    = "\x1b[1m"
	dim     = "\x1b[2m"
	reverse = "\x1b[7m"
	fresh   = "\x1b[1;32m" // what changed a moment ago
	bad     = "\x1b[1;31m" // what is not as it should be
	plain   = "\x1b[m"
)

// freshFor is how long a term counts as new.
const freshFor = 3 * time.Second

// render draws a snapshot into a terminal of that size.
func render(s snapshot, chosen, width, height int) string {
	if width == 0 || height == 0 {
		return "" // the size is not known yet
	}
	foot := s.foot(width, height)
	members := s.memberTable(chosen)
	// Title, elections, members, events and keys, with a line between them. Elections get
	// what members and at least three events leave.
	room := height - len(members) - len(foot) - 4
	elections := fit(s.electionTable(), max(3, room-3))
	lines := append([]string{s.title(), ""}, elections...)
	lines = append(append(lines, ""), members...)
	lines = append(lines, "")
	room = height - len(lines) - len(foot) - 1
	for _, e := range s.recent[max(0, len(s.recent)-max(0, room)):] {
		lines = append(lines, strings.ReplaceAll(e, "\n", " "))
	}
	for len(lines) < height-len(foot) {
		lines = append(lines, "")
	}
	lines = append(lines[:max(0, min(len(lines), height-len(foot)))], foot...)
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, width, "…")
	}
	return strings.Join(lines[:min(len(lines), height)], "\n")
}

func (s snapshot) title() string {
	led := fmt.Sprintf("%d of %d elections led", s.led, len(s.report.Elections))
	if s.led < len(s.report.Elections) {
		led = bad + led + plain
	}
	return fmt.Sprintf("%sprimacy dev%s   default revision %s%s%s   %s   %s", bold, plain, bold, printable(s.preferred), plain, led, s.up.Truncate(time.Second))
}

// electionTable is what `primacy status` shows, with marks.
func (s snapshot) electionTable() []string {
	rows, _ := s.report.Rows()
	lines := strings.Split(strings.TrimSuffix(new(status.Aligner).Lines(rows), "\n"), "\n")
	lines[0] = dim + lines[0] + plain
	for i, e := range s.report.Elections {
		switch {
		case e.State != status.Led || e.Stale:
			lines[i+1] = bad + lines[i+1] + plain
		case s.report.At.Sub(e.Acquired) < freshFor:
			lines[i+1] = fresh + lines[i+1] + plain
		}
	}
	return lines
}

func (s snapshot) memberTable(chosen int) []string {
	rows := [][]string{{"", "MEMBER", "REVISION", "PROCESS", "SESSION", "LEADS"}}
	for i, m := range s.members {
		mark := ""
		if i == chosen {
			mark = ">"
		}
		rows = append(rows, []string{mark, m.name, m.revision, m.process, m.session, strconv.Itoa(m.leads)})
	}
	lines := strings.Split(strings.TrimSuffix(new(status.Aligner).Lines(rows), "\n"), "\n")
	lines[0] = dim + lines[0] + plain
	if chosen+1 < len(lines) {
		lines[chosen+1] = bold + lines[chosen+1] + plain
	}
	return lines
}

// tall is how many lines a terminal needs to have room for commands too.
const tall = 30

// foot is what to try and how, and where things lie.
func (s snapshot) foot(width, height int) []string {
	key := func(k, what string) string { return reverse + " " + k + " " + plain + " " + what }
	var lines []string
	if s.other == "" {
		lines = append(lines, dim+"the default revision cannot be switched: this configuration does not keep it in a ConfigMap"+plain)
	} else {
		lines = append(lines, key("r", "switch the default revision to "+s.other))
		if height >= tall {
			for _, l := range wrap(s.byHand, width-6) {
				lines = append(lines, dim+"    "+l+plain)
			}
		}
	}
	keys := []string{key("k", "kill it, it comes back"), key("s", "stop or start it"), key("↑↓", "choose"), key("q", "quit")}
	return append(lines, strings.Join(keys, "   "), dim+"logs, and the configuration, which is followed: "+s.folder+plain)
}

// wrap spreads a command over lines so that a shell reads it as one.
func wrap(words []string, width int) (lines []string) {
	line := ""
	for _, w := range words {
		switch {
		case line == "":
			line = w
		case ansi.StringWidth(line)+1+ansi.StringWidth(w) > width-2:
			lines = append(lines, line+" \\")
			line = w
		default:
			line += " " + w
		}
	}
	if line == "" {
		return nil
	}
	return append(lines, line)
}

// fit shortens a table to n lines.
func fit(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n-1:n-1], fmt.Sprintf("%s… and %d more%s", dim, len(lines)-n+1, plain))
}
