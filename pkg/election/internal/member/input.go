package member

import (
	"fmt"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Input is what a host tells a Member: Elections, Removed, Prefer, Ready, Shown, WatchEnded,
// ListSent, ListFailed, ListPassed, Lags, Answered, Returned or Leave. Once a host has passed an input, nobody writes to what it points to.
type Input interface{ input() }

// Elections: take part in these.
type Elections struct{ Added []*Election }

// Removed: give up an election, for a reason. The Member answers with Forgotten once that is done.
type Removed struct {
	ID  ID
	Why machine.Reason
}

// Prefer says which revisions are preferred from now on.
type Prefer struct{ Preference Preference }

// Ready says whether the runner of an election would be able to work, and if not, why.
type Ready struct {
	ID    ID
	Ready bool
	Lacks string
}

// Lags says why this member does not go by its configuration as it is written; empty if it does.
type Lags struct{ Why string }

// Shown is an event of a watch, which came out of the store at the instant At.
type Shown struct {
	Watch uint64
	Event lock.Event
	At    record.Instant
}

// WatchEnded: a watch is over. If no EndWatch asked for that, Err says why the store cannot be used at
// all; nil means that the Member may begin the watch anew.
type WatchEnded struct {
	Watch uint64
	Err   error
}

// ListSent: a list that a Relist asked for is about to be requested, at the instant At.
type ListSent struct {
	Watch uint64
	At    record.Instant
}

// ListFailed: a list that a Relist asked for failed. The host tries again. Trial is that of the Relist.
type ListFailed struct {
	Watch, Trial uint64
	Err          error
}

// ListPassed: a list of the names that a Relist asked for has passed. Trial is that of the Relist.
type ListPassed struct{ Watch, Trial uint64 }

// Answered is the answer to a request: the object that was read, or the Version that was written. Each
// request gets one answer.
type Answered struct {
	Request uint64
	Entry   lock.Entry // after a write, only its Version is set
	Err     error
}

// PanicError is what a runner panicked with, as the error of a Returned.
type PanicError struct {
	Value any
	// Stack is the stack of the goroutine that panicked.
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprintf("runner panicked: %v", e.Value) }

// Returned: the work of a term is over.
type Returned struct {
	ID    ID
	Token record.Token
	Err   error
	// Expired: the guard had stopped the work.
	Expired bool
}

// Leave: give up everything.
type Leave struct{}

func (Elections) input()  {}
func (Removed) input()    {}
func (Prefer) input()     {}
func (Ready) input()      {}
func (Lags) input()       {}
func (Shown) input()      {}
func (WatchEnded) input() {}
func (ListSent) input()   {}
func (ListFailed) input() {}
func (ListPassed) input() {}
func (Answered) input()   {}
func (Returned) input()   {}
func (Leave) input()      {}
