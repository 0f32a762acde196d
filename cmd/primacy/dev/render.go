package dev

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
)

// page is the snapshot as a page for a terminal of the given size; chosen is the member that keys act on.
func (s snapshot) page(chosen, width, height int) view.Page {
	return view.Page{
		Title:  s.title(),
		Parts:  []view.Part{{Lines: view.Elections(s.report), Least: 3}, {Lines: s.memberTable(chosen)}},
		Events: s.recent, Foot: s.foot(width, height),
	}
}

func (s snapshot) title() string {
	led := fmt.Sprintf("%d of %d elections led", s.led, len(s.report.Elections))
	if s.led < len(s.report.Elections) {
		led = view.Bad.Of(led)
	}
	return fmt.Sprintf("%s   default revision %s   %s   %s", view.Bold.Of("primacy dev"), view.Bold.Of(view.Printable(s.preferred)), led, s.up.Truncate(time.Second))
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
	lines := view.Table(rows)
	if chosen+1 < len(lines) {
		lines[chosen+1] = view.Bold.Of(lines[chosen+1])
	}
	return lines
}

// tall is how many lines a terminal must have to show commands, too.
const tall = 30

// foot says what to try and how, and where the files are.
func (s snapshot) foot(width, height int) []string {
	var lines []string
	if s.other == "" {
		lines = append(lines, view.Dim.Of("the default revision cannot be switched: this configuration does not keep it in a ConfigMap"))
	} else {
		lines = append(lines, view.Key("r", "switch the default revision to "+s.other))
		if height >= tall {
			for _, l := range wrap(s.byHand, width-6) {
				lines = append(lines, view.Dim.Of("    "+l))
			}
		}
	}
	keys := []string{view.Key("k", "kill it, it comes back"), view.Key("s", "stop or start it"), view.Key("↑↓", "choose"), view.Key("q", "quit")}
	return append(lines, strings.Join(keys, "   "), view.Dim.Of("logs, and the configuration, which is followed: "+s.folder))
}

// wrap spreads a command over lines that a shell still reads as one.
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
