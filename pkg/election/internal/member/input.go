package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Input is what a Member is told: Elections, Removed, Prefer, Ready, Shown, WatchEnded,
// Answered, Returned or Leave. Nobody writes to what an input points to, from then on.
type Input interface{ input() }

// Elections are to be taken part in.
type Elections struct{ Added []*Election }

// Removed: an election is to be given up, for a reason. Forgotten says that it was.
type Removed struct {
	ID  ID
	Why machine.Reason
}

// Prefer says what is preferred from now on.
type Prefer struct{ Preference Preference }

// Ready says whether the runner of an election would be able to work.
type Ready struct {
	ID    ID
	Ready bool
}

// Shown is an event of a watch, which left the store at the instant At.
type Shown struct {
	Watch uint64
	Event lock.Event
	At    record.Instant
}

// WatchEnded: a watch is not read any more. Without EndWatch that is the Err for which the
// store cannot be used at all, or nil for that it may be begun anew.
type WatchEnded struct {
	Watch uint64
	Err   error
}

// Answered is what came of a request: what was read, or the Version that was written. Each
// request is answered once.
type Answered struct {
	Request uint64
	Entry   lock.Entry // of a write, its Version alone
	Err     error
}

// Returned: the work of a term is over.
type Returned struct {
	ID    ID
	Token record.Token
	Err   error
	// Expired: it was its guard that had stopped the work.
	Expired bool
}

// Leave: everything is to be given up.
type Leave struct{}

func (Elections) input()  {}
func (Removed) input()    {}
func (Prefer) input()     {}
func (Ready) input()      {}
func (Shown) input()      {}
func (WatchEnded) input() {}
func (Answered) input()   {}
func (Returned) input()   {}
func (Leave) input()      {}
