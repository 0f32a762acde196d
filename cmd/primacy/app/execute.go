package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// Exit statuses. The election package ends a process that lost control of its work with
// status 70. A second signal ends the process with 128 + the signal's number. docs/commands.md has them all.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitTimeout = 3 // --wait waited in vain
	exitNever   = 4 // what --wait waits for will not come by itself
	// exitRefused: what was asked for is not safe, or not allowed. Nothing was changed.
	exitRefused = 5
)

// Main is the program: it runs the command line of this process, and ends it.
func Main(options ...Option) { os.Exit(execute(os.Args, add(options))) }

// execute runs one command line and returns the exit status.
func execute(args []string, a *additions) int {
	root := newRoot(args[0], a)
	root.SetArgs(args[1:])
	if isCompleter(args[0]) {
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args[1:]...))
	}
	err := root.Execute()
	if err == nil {
		return 0
	}
	if strings.HasPrefix(err.Error(), "unknown command") { // cobra has no better sign
		err = &usageError{fmt.Errorf("%w (%s --help lists them)", err, root.CommandPath())}
	}
	printError(root.ErrOrStderr(), err)
	var wrong *usageError
	if errors.As(err, &wrong) {
		return exitUsage
	}
	var other *exitError
	if errors.As(err, &other) {
		return other.status
	}
	return exitFailed
}

// exitError ends the program with a status of its own.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// printError shows an error to people. Mistakes in a file begin with their places, so
// that editors and terminals find them. It waits for the reader as long as a log does: the process must end.
func printError(to io.Writer, err error) {
	text := fmt.Sprintf("error: %v\n", err)
	var mistakes strict.Errors
	if errors.As(err, &mistakes) && mistakes[0].File != "" {
		text = fmt.Sprintln(err)
	}
	printed := make(chan struct{})
	go func() { // ends once the text is taken, at the latest with this process
		defer close(printed)
		_, _ = io.WriteString(to, text) // nobody may be there to see it
	}()
	timer := clock.NewTimer(logPatience)
	defer timer.Stop()
	select {
	case <-printed:
	case <-timer.C:
	}
}

// refused says why the program does not do what it was told to.
func refused(err error) error { return &exitError{exitRefused, err} }

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
