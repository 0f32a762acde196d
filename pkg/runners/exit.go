package runners

import (
	"errors"
	"fmt"
)

// OnExit says what follows when a runner ends before its term, whether well or with an error.
type OnExit string

const (
	// ExitRestart: the supervision runs it again after a growing wait; a runner that keeps failing
	// costs the member its term (see Restart for the limits). It is the default.
	ExitRestart OnExit = "restart"
	// ExitRelease: the term is given up. The election's runners stop, the member releases the
	// lock and stands down for a while, so that another takes over.
	ExitRelease OnExit = "release"
	// ExitStop: the runner has done its work for this term, which goes on with the other runners.
	// When the last runner ends, the term is given up: no member holds a lock without work.
	ExitStop OnExit = "stop"
)

// GaveUpError says why a supervision ended before its term did.
type GaveUpError struct {
	// Runner is the child that failed, Failures times in a row.
	Runner   string
	Failures int
	// Last is the last failure.
	Last error
}

func (e *GaveUpError) Error() string {
	if e.Failures == 1 {
		return fmt.Sprintf("runner %s ended before its term: %v", e.Runner, e.Last)
	}
	return fmt.Sprintf("runner %s failed %d times in a row, the last time: %v", e.Runner, e.Failures, e.Last)
}

func (e *GaveUpError) Unwrap() error { return e.Last }

// ErrAllEnded: all runners ended before their term and were done (ExitStop).
var ErrAllEnded = errors.New("all runners have ended, so the term has no work left (onExit: stop)")

// ErrMemory is wrapped by a runner whose work the kernel killed because no memory was left for it.
var ErrMemory = errors.New("no memory was left for it")

var (
	errReturned = errors.New("it returned before its term ended")
	errNotReady = errors.New("it ended before it was ready")
)

// panicError holds what a runner panicked with.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("it panicked: %v", e.value) }
