package main

import (
	"fmt"
	"io"
	"os"
)

// stdinMode says whether the end of standard input ends the process.
type stdinMode string

const (
	stdinAuto  stdinMode = "auto"
	stdinWatch stdinMode = "true"
	stdinLeave stdinMode = "false"
)

func (m *stdinMode) String() string { return string(*m) }
func (m *stdinMode) Type() string   { return "mode" }

func (m *stdinMode) Set(s string) error {
	switch v := stdinMode(s); v {
	case stdinAuto, stdinWatch, stdinLeave:
		*m = v
		return nil
	default:
		return fmt.Errorf("%q is not one of auto, true, false", s)
	}
}

// watches reports whether to wait for the end of f. In mode auto we wait for the end of
// pipes and sockets only, which a parent made. /dev/null and files are at their end from the start,
// and a terminal belongs to a person.
func (m stdinMode) watches(f *os.File) bool {
	switch m {
	case stdinWatch:
		return true
	case stdinLeave:
		return false
	default:
		info, err := f.Stat()
		return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
	}
}

// whenClosed calls fn on a goroutine once f has ended. Nothing can interrupt the goroutine's read, so the
// goroutine may live until the process ends.
func whenClosed(f *os.File, fn func()) {
	go func() {
		_, _ = io.Copy(io.Discard, f)
		fn()
	}()
}
