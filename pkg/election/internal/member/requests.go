package member

import (
	"errors"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// request is one read or write of an object in a store.
type request struct {
	store   Store
	name    string
	purpose machine.Purpose
	// write is nil for a read.
	write    *record.Record
	replaces record.Version
	// renewed is the renewal time of the record that the write replaces; zero if that record has
	// another holder.
	renewed time.Time
}

// asked is a request, and where its answer goes.
type asked struct {
	request
	// contest gets the answer to a request for a lock, and by is the Write that its machine asked for.
	// For a request for a session both are zero, and session is the action that asked for it.
	contest *contest
	by      machine.Write
	session session.Action
	// sent is when we sent it, and after is the newest revision of the store that we, or an earlier incarnation, knew then.
	sent  record.Instant
	after uint64
	// mute: the last request for the lock got no answer.
	mute bool
}

// answer is the answer to a request.
type answer struct {
	sent    record.Instant // zero for one that was never sent
	entry   lock.Entry
	err     error
	outcome lock.Outcome
}

// send sends a request now. Beats come here directly, past the queue.
func (m *Member) send(a asked) {
	m.requests++
	a.sent, a.after = m.now, m.newestOf(a.store)
	if a.write != nil {
		stamped := stamp(*a.write, m.wall, a.renewed)
		a.write = &stamped
		if a.contest != nil {
			a.contest.sends(a.write, a.after)
		}
	}
	m.asked[m.requests] = a
	m.out.add(Send{Request: m.requests, Store: a.store, Name: a.name, Purpose: a.purpose, Write: a.write, Replaces: a.replaces, Timeout: m.timeoutOf(a)})
}

// timeoutOf is how long a request may take. One for a lock takes no longer than its own election's timing allows: one renewal may get no answer.
func (m *Member) timeoutOf(a asked) time.Duration {
	if a.contest == nil {
		return m.queue.timeout
	}
	return min(m.queue.timeout, WriteTimeout(a.contest.election.Timing))
}

// answered handles the answer to a request.
func (m *Member) answered(in Answered) {
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
			if in.Entry.Version.Revision <= a.after && in.Entry.Version != a.replaces { // a write that changes nothing gets no new revision
				m.restored()
			}
		}
	}
	m.conclude(a, ans)
}

// refusal answers a passed write as the store would: while the write was queued, somebody else was faster.
func refusal(a asked) answer {
	err := fmt.Errorf("%s: the object has another version by now: %w", a.name, lock.ErrConflict)
	return answer{err: err, outcome: lock.OutcomeOf(err)}
}

// conclude passes an answer on, except to a contest that was given up.
func (m *Member) conclude(a asked, ans answer) {
	switch by := a.session.(type) {
	case session.Write:
		m.sessionWritten(by, ans)
		return
	case session.Read:
		m.sessionRead(by.Name, ans)
		return
	}
	m.queue.leaves(a, ans)
	m.queue.finished(m.now, a.store, ans)
	switch {
	case a.contest.over:
	case a.write == nil:
		m.readBack(a.contest, ans)
	default:
		m.written(a.contest, a.by, ans)
	}
}

// retryAfter is how long the store asked us to wait; zero if it did not.
func (a answer) retryAfter() time.Duration {
	if throttled, is := errors.AsType[*lock.ThrottledError](a.err); is {
		return min(throttled.RetryAfter, mostRetryAfter)
	}
	return 0
}

// mostRetryAfter bounds how long a store, or a proxy before it, can silence a member.
const mostRetryAfter = 30 * time.Second

// outcomeOf is the answer to a write in the machine's terms.
func outcomeOf(a answer) machine.Answer {
	switch a.outcome {
	case lock.Committed:
		return machine.Committed
	case lock.Unknown:
		return machine.Unknown
	}
	for _, passedBy := range []error{lock.ErrConflict, lock.ErrExists, lock.ErrVanished} {
		if errors.Is(a.err, passedBy) {
			return machine.Conflicted
		}
	}
	return machine.Refused
}
