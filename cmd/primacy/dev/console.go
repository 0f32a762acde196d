package dev

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// console writes lines for a person, or for a program that reads them.
// Only one goroutine writes.
type console struct {
	out io.Writer
	// broken is the first error of a write; it means that the reader is gone.
	broken error
}

// say writes a line without a time.
func (c *console) say(format string, args ...any) {
	if c.broken == nil {
		_, c.broken = fmt.Fprintf(c.out, format+"\n", args...)
	}
}

// event writes an event with its time.
func (c *console) event(at time.Time, line string) {
	c.say("%s %s", at.Format(time.TimeOnly), line)
}

// isTerminal says whether a file is a terminal.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
