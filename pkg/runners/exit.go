package runners

import (
	"errors"
	"fmt"
)

// OnExit says what follows when a runner ends before its term, whether well or with an error.
type OnExit string

const (
	// ExitRestart: it is run again after a growing wait; one that keeps failing costs the term
	// (Restart). It is the default.
	ExitRestart OnExit = "restart"
	// ExitRelease: the term is given up. The election's runners are stopped, the lock is
	// released and the member stands down for a while, so that another takes over.
	ExitRelease OnExit = "release"
	// ExitStop: it is done for this term, which goes on with the other runners. When the last
	// one ends, the term is given up: a lock is never held by nobody working.
	ExitStop OnExit = "stop"
)

// GaveUpError is why a supervision ended before its term did.
type GaveUpError struct {
	// Runner is the child that failed, so many times in a row.
	Runner   string
	Failures int
	// Last is what it failed of the last time.
	Last error
}

func (e *GaveUpError) Error() string {
	if e.Failures == 1 {
		return fmt.Sprintf("runner %s ended before its term: %v", e.Runner, e.Last)
	}
	return fmt.Sprintf("runner %s failed %d times in a row, the last time: %v", e.Runner, e.Failures, e.Last)
}

func (e *GaveUpError) Unwrap() error { return e.Last }

// ErrAllEnded is why a supervision ended whose runners were all done (ExitStop) before the term.
var ErrAllEnded = errors.New("all runners have ended, so nobody would work (onExit: stop)")

var (
	errReturned = errors.New("it returned before its term ended")
	errGoexit   = errors.New("it ended its goroutine (runtime.Goexit)")
	errNotReady = errors.New("it ended before it was ready")
)

// panicError is what a runner panicked with.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("it panicked: %v", e.value) }
