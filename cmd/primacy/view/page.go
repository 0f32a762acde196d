package view

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Page is what is shown at one moment, from top to bottom.
type Page struct {
	Title string
	Parts []Part
	// Events are what happened, the latest last. As many of the last are shown as there is
	// room for.
	Events []string
	// Foot stands at the bottom.
	Foot []string
}

// Part is some lines of a page, such as a table. One without lines is left out.
type Part struct {
	Lines []string
	// Least is how many lines are left when there is no room for all; zero for all.
	Least int
}

// leastEvents is how many lines parts leave to events.
const leastEvents = 3

// Draw draws the page for a terminal of that size, line by line, and never beyond it.
func (p Page) Draw(width, height int) string {
	if width <= 0 || height <= 0 {
		return "" // the size is not known yet
	}
	room := max(0, height-len(p.Foot))
	lines := []string{p.Title}
	for _, part := range p.fit(room) {
		lines = append(append(lines, ""), part...)
	}
	lines = append(lines, "")
	for _, e := range p.Events[max(0, len(p.Events)-max(0, room-len(lines))):] {
		lines = append(lines, strings.ReplaceAll(e, "\n", " "))
	}
	for len(lines) < room {
		lines = append(lines, "")
	}
	lines = append(lines[:room], p.Foot...)[:height]
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, width, "…")
	}
	return strings.Join(lines, "\n")
}

// fit shortens parts, the longest first, until the page fits into so many lines.
func (p Page) fit(room int) [][]string {
	var parts [][]string
	var least []int
	over := 2 - room // the title, and an empty line before the events
	if len(p.Events) > 0 {
		over += leastEvents
	}
	for _, part := range p.Parts {
		if len(part.Lines) > 0 {
			parts, least = append(parts, part.Lines), append(least, part.Least)
			over += len(part.Lines) + 1
		}
	}
	keep := make([]int, len(parts))
	for i := range parts {
		keep[i] = len(parts[i])
	}
	for ; over > 0; over-- {
		longest := -1
		for i := range keep {
			if least[i] > 0 && keep[i] > least[i] && (longest < 0 || keep[i] > keep[longest]) {
				longest = i
			}
		}
		if longest < 0 {
			break
		}
		keep[longest]--
	}
	for i := range parts {
		parts[i] = shorten(parts[i], keep[i])
	}
	return parts
}

// shorten leaves n lines, of which the last says how many are missing.
func shorten(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n-1:n-1], Dim.Of(fmt.Sprintf("… and %d more", len(lines)-n+1)))
}
