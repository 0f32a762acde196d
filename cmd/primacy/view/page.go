package view

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Page is the view at one moment, from top to bottom.
type Page struct {
	Title string
	Parts []Part
	// Events are lines, the latest last. The page shows as many of the latest as fit.
	Events []string
	// Foot is at the bottom.
	Foot []string
}

// Part is some lines of a page, such as a table. A page leaves out parts without lines.
type Part struct {
	Lines []string
	// Least is how many lines the part keeps if not all fit; zero for all.
	Least int
	// Rest is the prefix of the line that counts the missing lines.
	Rest string
	// Joined: there is no empty line before the part.
	Joined bool
}

// leastEvents is how many lines the parts leave for events at least.
const leastEvents = 3

// Draw draws the page for a terminal of the given size, line by line, and never beyond it.
func (p Page) Draw(width, height int) string {
	if width <= 0 || height <= 0 {
		return "" // the size is still unknown
	}
	room := max(0, height-len(p.Foot))
	lines := []string{p.Title}
	for _, part := range p.fit(room) {
		if !part.Joined {
			lines = append(lines, "")
		}
		lines = append(lines, part.Lines...)
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

// fit shortens parts, the longest first, until the page fits into room lines.
func (p Page) fit(room int) []Part {
	var parts []Part
	over := 2 - room // the title, and an empty line before the events
	if len(p.Events) > 0 {
		over += leastEvents
	}
	var keep []int
	for _, part := range p.Parts {
		if len(part.Lines) == 0 {
			continue
		}
		parts, keep = append(parts, part), append(keep, len(part.Lines))
		over += len(part.Lines)
		if !part.Joined {
			over++
		}
	}
	for ; over > 0; over-- {
		longest := -1
		for i := range keep {
			if least := parts[i].Least; least > 0 && keep[i] > least && (longest < 0 || keep[i] > keep[longest]) {
				longest = i
			}
		}
		if longest < 0 {
			break
		}
		keep[longest]--
	}
	for i := range parts {
		parts[i].shorten(keep[i])
	}
	return parts
}

// shorten leaves n lines; the last line says how many are missing.
func (p *Part) shorten(n int) {
	if more := len(p.Lines) - n + 1; more > 1 {
		p.Lines = append(p.Lines[:n-1:n-1], p.Rest+Dim.Of(fmt.Sprintf("… and %d more", more)))
	}
}
