package election

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// request is one thing to ask of the store. Its answer comes back through done, on the
// goroutine that performed it.
type request struct {
	store   lock.Store
	name    string
	purpose machine.Purpose
	// write is nil for a read.
	write    *record.Record
	replaces record.Version
	// renewed is the renewal time of the record that the write replaces; zero where
	// nobody else looks at it.
	renewed time.Time
	// passed says whether the object has been seen to be another version than the one to be
	// replaced; nil where nobody looks. Only the owner of the realm may call it.
	passed func() bool
	done   func(answer)
}

type answer struct {
	sent    record.Instant
	entry   lock.Entry
	err     error
	outcome lock.Outcome
}

// pool performs requests on a bounded number of goroutines, renewals before releases,
// those before reads, takes and creates, and not faster than its limiter allows. Only
// the goroutine that owns the realm may call it.
type pool struct {
	clock   clock.Clock
	timeout time.Duration
	limiter *rate.Limiter
	began   record.Instant
	// heldUntil is until when the store wants to be left alone.
	heldUntil record.Instant
	busy      int
	queues    [4][]request
	wg        sync.WaitGroup
}

// poolSize is how many requests are under way at most, beats excepted. An API server
// answers a write in milliseconds, so this is thousands a second.
const poolSize = 32

// renewalSlots are those of the pool that only renewals and releases may use, so that
// requests that hang hold up neither.
const renewalSlots = 8

func newPool(c clock.Clock, timeout time.Duration, perSecond float64) *pool {
	return &pool{
		clock: c, timeout: timeout, began: c.Now(),
		limiter: rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond))),
	}
}

func class(r request) int {
	switch {
	case r.write == nil:
		return 2
	case r.purpose == machine.Renew:
		return 0
	case r.purpose == machine.Release:
		return 1
	case r.purpose == machine.Take:
		return 2
	}
	return 3
}

func (p *pool) enqueue(r request) { p.queues[class(r)] = append(p.queues[class(r)], r) }

// dispatch starts what may be started, and returns the instant at which to try again;
// zero when nothing waits for the limiter.
func (p *pool) dispatch(ctx context.Context) record.Instant {
	for p.busy < poolSize {
		i := slices.IndexFunc(p.queues[:], func(q []request) bool { return len(q) > 0 })
		if i < 0 || i > 1 && p.busy >= poolSize-renewalSlots {
			return 0
		}
		r := p.queues[i][0]
		passed := r.passed != nil && r.passed()
		if i > 0 && !passed { // renewals are not held up
			now := p.clock.Now()
			if now < p.heldUntil {
				return p.heldUntil
			}
			moment := time.Unix(0, 0).Add(now.Sub(p.began))
			if wait := p.limiter.ReserveN(moment, 1); wait.DelayFrom(moment) > 0 {
				delay := wait.DelayFrom(moment)
				wait.CancelAt(moment)
				return now.Add(delay)
			}
		}
		p.queues[i][0] = request{}
		if p.queues[i] = p.queues[i][1:]; len(p.queues[i]) == 0 {
			p.queues[i] = nil // what a burst needed is not kept
		}
		p.busy++
		if passed {
			p.refuse(r)
		} else {
			p.start(ctx, r)
		}
	}
	return 0
}

// forget drops all that is queued.
func (p *pool) forget() { p.queues = [4][]request{} }

// hold leaves the store alone for that long, renewals excepted: what it told one election
// holds for all.
func (p *pool) hold(d time.Duration) { p.heldUntil = max(p.heldUntil, p.clock.Now().Add(d)) }

// finished must be called, by the owner, for each answer of a dispatched request.
func (p *pool) finished() { p.busy-- }

// start performs the request at once, on a goroutine that wait joins. Beats go here
// directly: they wait for nobody.
func (p *pool) start(ctx context.Context, r request) {
	p.wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, p.timeout)
		defer cancel()
		r.done(p.perform(ctx, r))
	})
}

// refuse answers a write in the store's place, as the store would: while it waited, somebody
// else was faster.
func (p *pool) refuse(r request) {
	err := fmt.Errorf("%s: seen to be another version: %w", r.name, lock.ErrConflict)
	sent := p.clock.Now()
	p.wg.Go(func() { r.done(answer{sent: sent, err: err, outcome: lock.OutcomeOf(err)}) })
}

func (p *pool) perform(ctx context.Context, r request) answer {
	if r.write == nil {
		sent := p.clock.Now()
		entry, err := r.store.Get(ctx, r.name)
		return answer{sent: sent, entry: entry, err: err}
	}
	stamped := stamp(*r.write, p.clock.Wall(), r.renewed)
	sent := p.clock.Now()
	version, err := r.store.Put(ctx, r.name, stamped, r.replaces)
	a := answer{sent: sent, err: err, outcome: lock.OutcomeOf(err)}
	if a.outcome == lock.Committed {
		a.entry = lock.Entry{Name: r.name, Record: &stamped, Version: version}
	}
	return a
}

// wait returns once all that was started has ended; ctx must have ended.
func (p *pool) wait() { p.wg.Wait() }

// stamp puts the time of sending where a record says "now".
func stamp(r record.Record, wall, renewed time.Time) record.Record {
	wall = wall.UTC().Truncate(time.Microsecond)
	if r.Mark != nil {
		if r.Acquired.IsZero() {
			r.Acquired = wall
		}
		if r.Renewed.IsZero() {
			r.Renewed = visible(wall, renewed)
		}
	}
	for i := range r.History {
		if r.History[i].When.IsZero() {
			r.History = slices.Clone(r.History)
			r.History[i].When = wall.Truncate(time.Second)
		}
	}
	return r
}

// visible is a renewal time that electors of client-go can tell from the one before. They
// see whole seconds: a renewal within the same one would extend our term and not their
// patience, so they would lead before we have stopped.
func visible(wall, before time.Time) time.Time {
	next := before.Truncate(time.Second).Add(time.Second)
	if before.IsZero() || !wall.Before(next) || next.Sub(wall) > mostAhead {
		return wall
	}
	return next.UTC()
}

// mostAhead bounds how far a renewal time may be ahead of the wall clock. One that is
// further ahead was set by a stranger, or by a clock that was set back since.
const mostAhead = time.Minute

// mostRetryAfter bounds for how long a store, or whatever stands before it, can silence a
// member.
const mostRetryAfter = 30 * time.Second

// outcomeOf tells the machine what became of its write.
func outcomeOf(a answer) (machine.Outcome, time.Duration) {
	switch a.outcome {
	case lock.Committed:
		return machine.Committed, 0
	case lock.Unknown:
		return machine.Unknown, 0
	}
	for _, passedBy := range []error{lock.ErrConflict, lock.ErrExists, lock.ErrVanished} {
		if errors.Is(a.err, passedBy) {
			return machine.Rejected, 0
		}
	}
	var throttled *lock.ThrottledError
	if errors.As(a.err, &throttled) {
		return machine.Refused, min(throttled.RetryAfter, mostRetryAfter)
	}
	return machine.Refused, 0
}
