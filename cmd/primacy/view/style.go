package view

import (
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// Style sets text off. The program that draws leaves out what the terminal cannot do.
type Style string

// The styles there are.
const (
	Bold    Style = "\x1b[1m"
	Dim     Style = "\x1b[2m"
	Reverse Style = "\x1b[7m"
	// Fresh is what changed a moment ago.
	Fresh Style = "\x1b[1;32m"
	// Bad is what is not as it should be.
	Bad Style = "\x1b[1;31m"
)

const plain = "\x1b[m"

// Of is the text in that style.
func (s Style) Of(text string) string { return string(s) + text + plain }

// Key says what a key does.
func Key(key, what string) string { return Reverse.Of(" "+key+" ") + " " + what }

// Table is rows in columns, columns' names first.
func Table(rows [][]string) []string {
	lines := strings.Split(strings.TrimSuffix(new(status.Aligner).Lines(rows), "\n"), "\n")
	lines[0] = Dim.Of(lines[0])
	return lines
}
