package sim

import (
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// fate is what becomes of one request: for example, it is lost, slow or refused.
type fate int

const (
	// delivered: carried out and answered, soon.
	delivered fate = iota
	// requestLost: never carried out, never answered.
	requestLost
	// replyLost: carried out, never answered.
	replyLost
	// replySlow: carried out soon, answered just before, or after, the time-out.
	replySlow
	// requestSlow: carried out just before, or after, the time-out.
	requestSlow
	// requestLate: carried out long after the time-out.
	requestLate
	// refused: answered with a denial; writes only.
	refused
	// throttled: answered with a request to come back later; writes only.
	throttled
	fates
)

var fateFaults = [fates]Fault{
	requestLost: RequestLost, replyLost: ReplyLost, replySlow: ReplySlow, requestSlow: RequestSlow,
	requestLate: RequestLate, refused: Refused, throttled: Throttled,
}

// link is a member's connection to the store. A fault gives all its requests one fate, or blocks its
// reads, until it ends.
type link struct {
	w                       *world
	writes, reads           fate
	writesUntil, readsUntil int64
	// lastSlow: the next write is carried out and answered late, and what comes after it has the fate of the fault.
	lastSlow bool
	// deafUntil: until then no reply comes in, even if its request was carried out.
	deafUntil int64
	// least and most bound the latency of a request, and of its reply.
	least, most time.Duration
}

func (w *world) pickLink() link {
	l := link{w: w, least: time.Millisecond, most: 10 * time.Millisecond}
	if w.chance(0.3) {
		l.most = w.timing.RenewInterval / 4
		if w.mixed {
			l.most = w.shorter.RenewInterval / 4
		}
	}
	return l
}

func (l *link) latency() time.Duration { return l.w.between(l.least, l.most) }

func (l *link) writeFate() fate {
	if l.w.now < l.writesUntil {
		if l.lastSlow {
			l.lastSlow = false
			return replySlow
		}
		return l.writes
	}
	if l.w.calm || !l.w.chance(l.w.noise) {
		return delivered
	}
	return requestLost + fate(l.w.rng.IntN(int(fates-requestLost)))
}

func (l *link) readFate() fate {
	if l.w.now < l.readsUntil {
		return l.reads
	}
	if l.w.calm || !l.w.chance(l.w.noise) {
		return delivered
	}
	return requestLost + fate(l.w.rng.IntN(int(refused-requestLost)))
}

// course decides when a request, whose sender waits for timeout, is carried out and when its reply comes in; zero
// for never.
func (l *link) course(f fate, timeout time.Duration) (carriedOut, answered int64) {
	w := l.w
	soon := w.now + int64(l.latency())
	back := int64(l.latency())
	nearTimeout := w.now + int64(w.between(timeout/2, timeout*5/4))
	switch f {
	case requestLost:
		return 0, 0
	case replyLost:
		return soon, 0
	case replySlow:
		return soon, max(soon, nearTimeout)
	case requestSlow:
		return nearTimeout, nearTimeout + back
	case requestLate:
		late := w.now + int64(timeout) + int64(w.upTo(w.timing.LeaseDuration*5/2))
		if late > w.calmAt {
			late = max(soon, w.calmAt) // a request under way when faults end is carried out by then
		}
		return late, 0
	}
	return soon, soon + back
}

// request is a write under way, or with a nil record a read.
type request struct {
	i        *incarnation
	id       uint64
	m        *contest // nil for a request of the session
	name     string
	record   *record.Record
	replaces record.Version
	purpose  machine.Purpose // of a write to a lock
	timeout  time.Duration

	sent record.Instant
	// restores is how often the store had been restored when the request was sent.
	restores int
	// heldOpen: when the request was sent, its sender saw that the lock's holder lives, and that its term may fail open.
	heldOpen             bool
	carriedOut, answered int64
	// entry and err are the store's answer, once it carried out the request.
	entry lock.Entry
	err   error
	done  bool
}

// send sends a request of the member, and tells it the outcome exactly once.
func (i *incarnation) send(do member.Send) {
	w := i.p.h.w
	q := &request{
		i: i, id: do.Request, name: do.Name, record: do.Write, replaces: do.Replaces, purpose: do.Purpose, timeout: do.Timeout,
		sent: i.now(), restores: w.store.restores,
	}
	if !w.isSession(lock.Entry{Name: do.Name}) {
		if q.m = i.lockOf(do.Name); q.m == nil {
			e := w.electionOf(do.Name)
			q.m = &contest{i: i, election: e, name: do.Name, settings: i.p.h.settings(e)} // a stray lock, which the member no longer uses
		}
	}
	if q.m != nil && q.m.askedAt == 0 {
		q.m.askedAt = q.sent
	}
	if q.m == nil && q.record != nil && q.record.Holder == i.identity {
		i.p.hears(q.name, q.record)
	}
	q.heldOpen = q.m != nil && q.purpose == machine.Take && q.m.heldOpen()
	i.requests[do.Request] = q
	w.judge.wrote(i, q.m, q.name)
	if q.m != nil {
		w.judge.withheld(q.m, q.purpose)
	}
	w.at(i.p.h.clock.when(q.sent.Add(q.timeout)), func() { q.answer(lock.Entry{}, fmt.Errorf("%w: no answer in time", lock.ErrUnknown)) })
	delay := w.upTo(2 * time.Millisecond)
	if !w.calm && w.chance(w.noise) {
		delay = w.upTo(w.timing.RenewInterval)
	}
	w.after(delay, func() { i.p.deliver(fromQueue, q.goOut) })
}

// goOut has the request leave the process.
func (q *request) goOut() {
	h := q.i.p.h
	w := h.w
	f := h.link.readFate()
	if q.record != nil {
		f = h.link.writeFate()
		if w.denials.stops(q) {
			f = w.denials.strike(q)
		}
	}
	q.carriedOut, q.answered = h.link.course(f, w.timeout)
	if f != delivered {
		w.cov.saw(fateFaults[f])
	}
	switch {
	case f == refused:
		w.at(q.answered, func() { q.answer(lock.Entry{}, lock.ErrDenied) })
	case f == throttled:
		after := w.between(0, w.timing.RenewInterval)
		w.at(q.answered, func() { q.answer(lock.Entry{}, &lock.ThrottledError{RetryAfter: after, Err: lock.ErrThrottled}) })
	case q.carriedOut != 0:
		w.at(q.carriedOut, q.carryOut)
	}
}

// carryOut has the store carry out the request.
func (q *request) carryOut() {
	h := q.i.p.h
	w := h.w
	if q.record == nil {
		q.entry = w.store.read(q.name)
	} else if q.entry, q.err = w.store.put(w.now, q.name, q.record, q.replaces); q.err == nil {
		if q.m != nil {
			q.m.stored(q)
		} else {
			w.judge.sessionStored(q.i, q.entry, q.sent)
		}
		if q.carriedOut > h.clock.when(q.sent.Add(q.timeout)) {
			w.cov.saw(CommittedLate)
		}
	}
	if q.answered != 0 {
		w.at(q.answered, func() {
			if w.now >= h.link.deafUntil {
				q.answer(q.entry, q.err)
			}
		})
	}
}

// answer delivers the reply or the time-out, whichever comes first.
func (q *request) answer(e lock.Entry, err error) {
	q.i.p.deliver(fromReply, func() {
		if q.done {
			return
		}
		q.done = true
		if err != nil || q.record != nil {
			e = lock.Entry{Version: e.Version}
		}
		q.i.p.tell(fromReply, q.i, member.Answered{Request: q.id, Entry: e, Err: err})
	})
}
