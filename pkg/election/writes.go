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
	// renewed is the renewal time of the record that the write replaces; zero if that has
	// another holder.
	renewed time.Time
	// passed says whether the object has been seen to be another version than the one to be
	// replaced; nil where nobody looks. Only the owner of the realm may call it.
	passed func() bool
	done   func(answer)
}

// answer is what came of a request.
type answer struct {
	sent    record.Instant // zero for one that was never sent
	entry   lock.Entry
	err     error
	outcome lock.Outcome
}

// pool performs requests on a bounded number of goroutines for each store, renewals before
// releases, those before reads, takes and creates, and not faster than its limiter allows. Only
// the goroutine that owns the realm may call it.
type pool struct {
	clock   clock.Clock
	timeout time.Duration
	limiter *rate.Limiter
	began   record.Instant
	// heldAt is when the store asked to be left alone, and heldUntil until when. Meanwhile one
	// request goes out at probeAt, to find out whether it still wants that.
	heldAt, heldUntil, probeAt record.Instant
	lanes                      []*lane
	wg                         sync.WaitGroup
}

// lane is what waits for one store, and how much is under way there. A store that does not answer
// holds up no other.
type lane struct {
	store  lock.Store
	busy   int
	queues [4][]request // by class
}

// poolSize is how many requests are under way in one store at most, beats excepted. An API
// server answers a write in milliseconds, so this is thousands a second.
const poolSize = 32

// renewalSlots are those of a lane that only renewals and releases may use, so that other
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

func (p *pool) enqueue(r request) {
	l := p.lane(r.store)
	l.queues[class(r)] = append(l.queues[class(r)], r)
}

func (p *pool) lane(store lock.Store) *lane {
	i := slices.IndexFunc(p.lanes, func(l *lane) bool { return l.store == store })
	if i < 0 {
		i = len(p.lanes)
		p.lanes = append(p.lanes, &lane{store: store})
	}
	return p.lanes[i]
}

// next is the queue of the request that goes first, by its lane and class; nil if none may go.
func (p *pool) next() (*lane, int) {
	for class := range 4 {
		for _, l := range p.lanes {
			free := poolSize - l.busy
			if class > 1 {
				free -= renewalSlots
			}
			if free > 0 && len(l.queues[class]) > 0 {
				return l, class
			}
		}
	}
	return nil, 0
}

// dispatch starts what may be started, and returns the instant at which to try again;
// zero when nothing waits for the limiter.
func (p *pool) dispatch(ctx context.Context) record.Instant {
	for {
		l, i := p.next()
		if l == nil {
			return 0
		}
		r := l.queues[i][0]
		passed := r.passed != nil && r.passed()
		if i > 0 && !passed { // renewals are not held up
			now := p.clock.Now()
			if now < p.heldUntil {
				if now < p.probeAt {
					return p.probeAt
				}
				p.probeAt = now.Add(p.timeout / 4)
			}
			moment := time.Unix(0, 0).Add(now.Sub(p.began))
			if wait := p.limiter.ReserveN(moment, 1); wait.DelayFrom(moment) > 0 {
				delay := wait.DelayFrom(moment)
				wait.CancelAt(moment)
				return now.Add(delay)
			}
		}
		l.queues[i][0] = request{}
		if l.queues[i] = l.queues[i][1:]; len(l.queues[i]) == 0 {
			l.queues[i] = nil // what a burst needed is not kept
		}
		l.busy++
		if passed {
			p.refuse(r)
		} else {
			p.start(ctx, r)
		}
	}
}

// forget drops all that is queued.
func (p *pool) forget() {
	for _, l := range p.lanes {
		l.queues = [4][]request{}
	}
}

// finished takes in the answer to a request that was dispatched to a store. One that asks for it has the pool leave
// the store alone, renewals excepted: what it told one election holds for all. An answer of the
// store to a request that was sent since ends that wait.
func (p *pool) finished(store lock.Store, a answer) {
	p.lane(store).busy--
	now := p.clock.Now()
	switch after := a.retryAfter(); {
	case after > 0:
		p.heldAt, p.heldUntil = now, max(p.heldUntil, now.Add(after))
		p.probeAt = max(p.probeAt, now.Add(p.timeout/4))
	case a.outcome != lock.Unknown && a.sent > p.heldAt:
		p.heldUntil = 0
	}
}

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
	p.wg.Go(func() { r.done(answer{err: err, outcome: lock.OutcomeOf(err)}) })
}

func (p *pool) perform(ctx context.Context, r request) answer {
	if r.write == nil {
		sent := p.clock.Now()
		entry, err := r.store.Get(ctx, r.name)
		return answer{sent: sent, entry: entry, err: err, outcome: lock.OutcomeOf(err)}
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

// retryAfter is for how long the store asked to be left alone; zero if it did not.
func (a answer) retryAfter() time.Duration {
	if throttled, is := errors.AsType[*lock.ThrottledError](a.err); is {
		return min(throttled.RetryAfter, mostRetryAfter)
	}
	return 0
}

// outcomeOf tells the machine what became of its write.
func outcomeOf(a answer) machine.Outcome {
	switch a.outcome {
	case lock.Committed:
		return machine.Committed
	case lock.Unknown:
		return machine.Unknown
	}
	for _, passedBy := range []error{lock.ErrConflict, lock.ErrExists, lock.ErrVanished} {
		if errors.Is(a.err, passedBy) {
			return machine.Rejected
		}
	}
	return machine.Refused
}
