package dev

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// console is where lines are written for a person, or for a program that reads them.
// Only one goroutine writes.
type console struct {
	out io.Writer
	// broken is the first error of a write: nobody reads any more.
	broken error
}

// say writes what is no event.
func (c *console) say(format string, args ...any) {
	if c.broken == nil {
		_, c.broken = fmt.Fprintf(c.out, format+"\n", args...)
	}
}

// event writes one with its time.
func (c *console) event(at time.Time, line string) {
	c.say("%s %s", at.Format(time.TimeOnly), line)
}

// isTerminal says whether a person sits there.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
