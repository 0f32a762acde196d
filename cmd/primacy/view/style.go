package view

import (
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// Style is an ANSI style of text. The drawing program leaves out styles that the terminal lacks.
type Style string

// All styles.
const (
	Bold    Style = "\x1b[1m"
	Dim     Style = "\x1b[2m"
	Reverse Style = "\x1b[7m"
	// Fresh marks what changed a moment ago.
	Fresh Style = "\x1b[1;32m"
	// Bad marks what is not as it should be.
	Bad Style = "\x1b[1;31m"
)

const plain = "\x1b[m"

// Of is the text in the style s.
func (s Style) Of(text string) string { return string(s) + text + plain }

// Key is the hint for a key: its name and its effect.
func Key(key, what string) string { return Reverse.Of(" "+key+" ") + " " + what }

// Table aligns rows in columns; the first row has the columns' names.
func Table(rows [][]string) []string {
	lines := strings.Split(strings.TrimSuffix(new(status.Aligner).Lines(rows), "\n"), "\n")
	lines[0] = Dim.Of(lines[0])
	return lines
}
