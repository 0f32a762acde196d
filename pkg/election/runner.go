package election

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Runner is the work of one election: it runs during a term.
type Runner interface {
	// Run does the work until ctx is cancelled, and returns only when all of it has
	// stopped: the lock is released as soon as Run returns. It is called once for each
	// term, never twice at a time. A return before ctx is cancelled gives the term up,
	// and the member stands down for a while. So does a panic of Run: it is recovered and
	// logged with its stack, and the process goes on. So does a Run that ends its goroutine
	// (ErrGoexit). A panic in a goroutine that Run started cannot be recovered, and ends the
	// process. Goroutines that Run started are its own to join, also when it panics: others may lead
	// once it has ended.
	//
	// When ctx is cancelled, StopOf(ctx) says why, and by when the work must be dead.
	Run(ctx context.Context, term Term) error
}

// Contained is a Runner whose work does no harm past the deadline, even if this process is frozen. Either
// other processes do the work, and something ends them in time even while this process cannot run; or the
// store rejects what it writes too late, by its token or by a conflict. After a freeze past the deadline
// this process goes on if such a runner then returns within two seconds, and none of its processes ended
// too late (Term.Ended). With any other runner the process ends.
type Contained interface {
	Runner
	// Contained says whether, in the coming term, the work does no harm past the deadline; false
	// makes this a Runner like any other. The Manager calls it once for each term, before Run.
	Contained() bool
}

// RunnerFunc is a function as a Runner. A panic in it gives the term up, as an error does.
type RunnerFunc func(ctx context.Context, term Term) error

// Run calls f.
func (f RunnerFunc) Run(ctx context.Context, term Term) error { return f(ctx, term) }

// Term is one period in which this member leads an election.
type Term struct {
	// Election is the election's name, Identity this member's, Revision its revision.
	Election, Identity, Revision string
	// Token fences what the runner writes: it is higher than that of every earlier term. It is
	// 0 only where the election is disabled.
	Token record.Token
	// Cycle counts this member's terms in this election, this one included.
	Cycle int

	validity *validity
	status   *Status              // nil where there is no Manager
	giveUp   func(why string)     // nil where there is no Manager
	ended    func(record.Instant) // nil where there is no Manager
	// lockToken is the token in the lock's own record. That of a migration's term is higher if the old lock's is.
	lockToken record.Token
}

// NewTerm makes a term for code that drives runners without a Manager, such as the tests of a runner kind. The
// term lasts until the deadline, on CLOCK_BOOTTIME. extend grants a later deadline, from any goroutine.
func NewTerm(t Term, deadline record.Instant) (term Term, extend func(deadline record.Instant)) {
	t.validity = newValidity(deadline)
	return t, t.validity.extend
}

// Fenced says whether the term has a token. Without one, other members may be at work too.
func (t Term) Fenced() bool { return t.Token != 0 }

// GiveUp says that the work cannot go on. It is for a runner of several parts, which must stop
// the others before it can return. GiveUp cancels the runner's context before it returns. The
// work must be dead within stopGrace, as with any Stop, or the process ends. Once the runner
// has returned, the member releases the lock and stands down for a while.
//
// GiveUp returns whether a Manager keeps the term. If none does, GiveUp does nothing. If the term
// is ending already, GiveUp only returns true; the context ends once the callbacks of OnEnd have
// returned.
func (t Term) GiveUp(why string) (kept bool) {
	if t.giveUp == nil {
		return false
	}
	t.giveUp(why)
	return true
}

// Ended reports when processes that did a Contained runner's work ended; the runner calls it before Run
// returns. The time must come from a process that watched over them and was not frozen with this one;
// if there is none, it is the time at which Run found out. Of several calls the latest time counts. Ended
// does nothing for a Term that no Manager began.
func (t Term) Ended(at record.Instant) {
	if t.ended != nil {
		t.ended(at)
	}
}

// Deadline returns the instant on CLOCK_BOOTTIME by which the work must be dead unless the term is
// extended, and a channel that is closed when a later deadline is granted.
func (t Term) Deadline() (deadline record.Instant, extended <-chan struct{}) {
	return t.validity.Deadline()
}

// validity is the deadline of a term, which may be extended. Its methods may be called
// from any goroutine.
type validity struct {
	mu       sync.Mutex
	deadline record.Instant
	extended chan struct{}
	// follows is another validity whose deadline counts instead; nil for none.
	follows *validity
}

// newValidity makes a validity that ends at deadline.
func newValidity(deadline record.Instant) *validity {
	return &validity{deadline: deadline, extended: make(chan struct{})}
}

// Deadline returns the present deadline and a channel that is closed when a later deadline is granted.
func (v *validity) Deadline() (record.Instant, <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.follows != nil {
		return v.follows.Deadline()
	}
	return v.deadline, v.extended
}

// follow makes another validity's deadline count from now on.
func (v *validity) follow(other *validity) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.follows = other
	close(v.extended) // waiters for this deadline must wait for the other one
	v.extended = make(chan struct{})
}

// wake makes those who wait for a later deadline look again.
func (v *validity) wake() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.extended)
	v.extended = make(chan struct{})
}

// stand stops following, and keeps the present deadline.
func (v *validity) stand() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.follows != nil {
		v.deadline, _ = v.follows.Deadline()
		v.follows = nil
	}
}

// extend grants a later deadline; an earlier one changes nothing.
func (v *validity) extend(deadline record.Instant) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if deadline <= v.deadline || v.follows != nil {
		return
	}
	v.deadline = deadline
	close(v.extended)
	v.extended = make(chan struct{})
}

// Stop is why a runner's context was cancelled, and by when its work must be dead. It
// is the context's cause.
type Stop struct {
	Reason string
	// By is an instant on CLOCK_BOOTTIME.
	By record.Instant

	// kept: this member gives the term up, and holds the lock until the work has returned.
	kept bool
}

func (s *Stop) Error() string { return fmt.Sprintf("stopped: %s", s.Reason) }

// StopOf says why ctx, given to a Runner, was cancelled; false while it was not, and
// for a context that no Manager cancelled.
func StopOf(ctx context.Context) (Stop, bool) {
	var s *Stop
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &s) {
		return *s, true
	}
	return Stop{}, false
}
