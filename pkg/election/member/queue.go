package member

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// request is one thing to ask of a store.
type request struct {
	store   Store
	name    string
	purpose machine.Purpose
	// write is nil for a read.
	write    *record.Record
	replaces record.Version
	// renewed is the renewal time of the record that the write replaces; zero if that has
	// another holder.
	renewed time.Time
}

// asked is a request, and who wants to hear its answer.
type asked struct {
	request
	// contest is whose lock it is about, and by the Write that its machine asked for; nil and
	// zero where it is about a session, which asked for session.
	contest *contest
	by      machine.Write
	session session.Action
	// sent is when it was.
	sent record.Instant
}

// answer is what came of a request.
type answer struct {
	sent    record.Instant // zero for one that was never sent
	entry   lock.Entry
	err     error
	outcome lock.Outcome
}

// queue is what waits to be asked of the stores: a bounded number goes out at a time for each of
// them, renewals before releases, those before reads, takes and creates, and not faster than the
// limit allows.
type queue struct {
	timeout time.Duration
	limit   limit
	// heldAt is when the store asked to be left alone, and heldUntil until when. Meanwhile one
	// request goes out at probeAt, to find out whether it still wants that.
	heldAt, heldUntil, probeAt record.Instant
	lanes                      []*lane
}

// lane is what waits for one store, and how much is under way there. A store that does not answer
// holds up no other.
type lane struct {
	store  Store
	busy   int
	queues [4][]asked // by class
}

// limit is a bucket of tokens, of which each request takes one.
type limit struct {
	perSecond, most, left float64
	at                    record.Instant
}

// take takes a token, or says how long it will be until there is one.
func (l *limit) take(now record.Instant) time.Duration {
	l.left, l.at = min(l.most, l.left+now.Sub(l.at).Seconds()*l.perSecond), now
	if l.left < 1 {
		return max(time.Microsecond, time.Duration((1-l.left)/l.perSecond*float64(time.Second)))
	}
	l.left--
	return 0
}

// poolSize is how many requests are under way in one store at most, beats excepted. An API
// server answers a write in milliseconds, so this is thousands a second.
const poolSize = 32

// renewalSlots are those of a lane that only renewals and releases may use, so that other
// requests that hang hold up neither.
const renewalSlots = 8

func newQueue(timeout time.Duration, perSecond float64) queue {
	most := max(1, perSecond)
	return queue{timeout: timeout, limit: limit{perSecond: perSecond, most: most, left: most}}
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

func (q *queue) add(a asked) {
	l := q.lane(a.store)
	l.queues[class(a.request)] = append(l.queues[class(a.request)], a)
}

func (q *queue) lane(store Store) *lane {
	i := slices.IndexFunc(q.lanes, func(l *lane) bool { return l.store == store })
	if i < 0 {
		i = len(q.lanes)
		q.lanes = append(q.lanes, &lane{store: store})
	}
	return q.lanes[i]
}

// first is the queue of the request that goes first, by its lane and class; nil if none may go.
func (q *queue) first() (*lane, int) {
	for class := range 4 {
		for _, l := range q.lanes {
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

// passed says whether the object has been seen to be another version than the one to be replaced.
func (a *asked) passed() bool {
	return a.write != nil && a.contest != nil && a.replaces.UID != "" && a.contest.state.Lock.Version != a.replaces
}

// next takes out the request that is to go out now. Without one, it says when to try again; zero
// for when there is another answer. A passed one is not to be sent.
func (q *queue) next(now record.Instant) (a asked, passed bool, next record.Instant) {
	l, class := q.first()
	if l == nil {
		return asked{}, false, 0
	}
	a = l.queues[class][0]
	passed = a.passed()
	if class > 0 && !passed { // renewals are not held up
		if now < q.heldUntil {
			if now < q.probeAt {
				return asked{}, false, q.probeAt
			}
			q.probeAt = now.Add(q.timeout / 4)
		}
		if wait := q.limit.take(now); wait > 0 {
			return asked{}, false, now.Add(wait)
		}
	}
	l.queues[class][0] = asked{}
	if l.queues[class] = l.queues[class][1:]; len(l.queues[class]) == 0 {
		l.queues[class] = nil // what a burst needed is not kept
	}
	l.busy++
	return a, passed, 0
}

// forget drops all that is queued.
func (q *queue) forget() {
	for _, l := range q.lanes {
		l.queues = [4][]asked{}
	}
}

// finished takes in the answer to a request that went out to a store. One that asks for it has the
// queue leave the store alone, renewals excepted: what it told one election holds for all. An answer
// of the store to a request that was sent since ends that wait.
func (q *queue) finished(now record.Instant, store Store, a answer) {
	q.lane(store).busy--
	switch after := a.retryAfter(); {
	case after > 0:
		q.heldAt, q.heldUntil = now, max(q.heldUntil, now.Add(after))
		q.probeAt = max(q.probeAt, now.Add(q.timeout/4))
	case a.outcome != lock.Unknown && a.sent > q.heldAt:
		q.heldUntil = 0
	}
}

// tendQueue sends what may be sent.
func (m *Member) tendQueue() {
	for {
		a, passed, next := m.queue.next(m.now)
		switch {
		case a.name == "":
			m.queueNext = next
			return
		case passed:
			m.answered(a, refusal(a))
		default:
			m.send(a)
		}
	}
}

// refusal answers a write in the store's place, as the store would: while it waited, somebody else
// was faster.
func refusal(a asked) answer {
	err := fmt.Errorf("%s: seen to be another version: %w", a.name, lock.ErrConflict)
	return answer{err: err, outcome: lock.OutcomeOf(err)}
}

// send asks the store at once. Beats go here directly: they wait for nobody.
func (m *Member) send(a asked) {
	m.requests++
	a.sent = m.now
	if a.write != nil {
		stamped := stamp(*a.write, m.wall, a.renewed)
		a.write = &stamped
		if a.contest != nil {
			a.contest.sends(a.write)
		}
	}
	m.asked[m.requests] = a
	m.out.add(Send{Request: m.requests, Store: a.store, Name: a.name, Purpose: a.purpose, Write: a.write, Replaces: a.replaces, Timeout: m.queue.timeout})
}

// answer takes in what came of a request.
func (m *Member) answer(in Answered) {
	a, is := m.asked[in.Request]
	if !is {
		return
	}
	delete(m.asked, in.Request)
	ans := answer{sent: a.sent, entry: in.Entry, err: in.Err, outcome: lock.OutcomeOf(in.Err)}
	if a.write != nil {
		ans.entry = lock.Entry{}
		if ans.outcome == lock.Committed {
			ans.entry = lock.Entry{Name: a.name, Record: a.write, Version: in.Entry.Version}
		}
	}
	m.answered(a, ans)
}

// answered tells who asked. A contest that was given up hears nothing of it.
func (m *Member) answered(a asked, ans answer) {
	switch by := a.session.(type) {
	case session.Write:
		m.sessionWritten(by, ans)
		return
	case session.Read:
		m.sessionRead(by.Name, ans)
		return
	}
	m.queue.finished(m.now, a.store, ans)
	switch {
	case a.contest.over:
	case a.write == nil:
		m.readBack(a.contest, ans)
	default:
		m.written(a.contest, a.by, ans)
	}
}

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
