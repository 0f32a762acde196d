package fence

import (
	"errors"
	"fmt"
)

// ErrNotLeading is in every refusal: errors.Is finds it through the wrapping of net/http and
// client-go. The error itself is a *NotLeadingError.
var ErrNotLeading = errors.New("not leading")

// NotLeadingError says that a write was held back, or cut.
type NotLeadingError struct {
	// Election is the election that this member does not lead; empty if the write's context belongs to no term
	// (WithinDo, and package ctrl).
	Election string
	// Progress says how far the write had come.
	Progress Progress
	// Cause is why the term ended, and the request's own error if there was one; nil for a
	// write that the gate held back.
	Cause error
}

// Progress is how far a write had come when it was stopped.
type Progress int

const (
	// NotSent: the gate held the write back, and nothing was sent.
	NotSent Progress = iota + 1
	// Cut: the write was under way when the term ended, and may have been carried out.
	Cut
)

func (p Progress) String() string {
	switch p {
	case NotSent:
		return "not sent"
	case Cut:
		return "cut"
	}
	return fmt.Sprintf("Progress(%d)", int(p))
}

func (e *NotLeadingError) Error() string {
	if e.Progress == Cut {
		return fmt.Sprintf("election %s: %v any more, so a write under way was cut: %v (it may have been carried out: look before you write again)", e.Election, ErrNotLeading, e.Cause)
	}
	if e.Election == "" {
		return fmt.Sprintf("no election: %v: the write's context is not that of a function under Gate.Do (in package ctrl: not within a Reconcile), so it was not sent (pass that context on; fence.Ungated is for requests that need no leader; the client of the locks must not be gated)", ErrNotLeading)
	}
	return fmt.Sprintf("election %s: %v, so the write was not sent (leave it to the leader, and try again only in a term of your own; fence.Ungated is for requests that need no leader; the client of the locks must not be gated)", e.Election, ErrNotLeading)
}

// Unwrap returns ErrNotLeading and the cause.
func (e *NotLeadingError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrNotLeading}
	}
	return []error{ErrNotLeading, e.Cause}
}
