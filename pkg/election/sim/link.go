package sim

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// fate is what becomes of one request.
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

// link is a member's way to the store. A fault gives all its requests one fate, or bars
// its reads, until it ends.
type link struct {
	w                       *world
	writes, reads           fate
	writesUntil, readsUntil int64
	// deafUntil is until when no reply comes in, whatever became of its request.
	deafUntil int64
	// latency is what a request and its reply take each, at least and at most.
	least, most time.Duration
}

func (w *world) pickLink() link {
	l := link{w: w, least: time.Millisecond, most: 10 * time.Millisecond}
	if w.chance(0.3) {
		l.most = w.timing.RenewInterval / 4
	}
	return l
}

func (l *link) latency() time.Duration { return l.w.between(l.least, l.most) }

func (l *link) writeFate() fate {
	if l.w.now < l.writesUntil {
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

// course is when a request is carried out and when its reply comes in; zero for never.
func (l *link) course(f fate) (carriedOut, answered int64) {
	w := l.w
	soon := w.now + int64(l.latency())
	back := int64(l.latency())
	nearTimeout := w.now + int64(w.between(w.timeout/2, w.timeout*5/4))
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
		late := w.now + int64(w.timeout) + int64(w.upTo(w.timing.LeaseDuration*5/2))
		if late > w.calmAt {
			late = max(soon, w.calmAt) // what is under way when faults end, ends
		}
		return late, 0
	}
	return soon, soon + back
}

// request is one write under way: of the session, or of a machine.
type request struct {
	i        *incarnation
	m        *part // nil for the session's
	name     string
	record   record.Record
	replaces record.Version
	purpose  machine.Purpose // of a machine's
	beat     uint64          // zero where nobody needs the answer

	sent record.Instant
	// restores is how often the store had been restored by then.
	restores             int
	carriedOut, answered int64
	// entry and err are what the store says, once it was carried out.
	entry lock.Entry
	err   error

	// outcome is what the member learns.
	outcome    machine.Outcome
	retryAfter time.Duration
	done       bool
}

// put sends a write through the pool of its member, which is told exactly once of what
// became of it.
func (i *incarnation) put(q *request) {
	w := i.p.h.w
	queued := w.upTo(2 * time.Millisecond)
	if !w.calm && w.chance(w.noise) {
		queued = w.upTo(w.timing.RenewInterval)
	}
	w.after(queued, func() {
		if i.p.handles() {
			q.send()
		} else {
			i.p.deliver(fromPool, q.send)
		}
	})
}

func (q *request) send() {
	h := q.i.p.h
	w := h.w
	q.outcome, q.sent, q.restores = machine.Unknown, h.clock.local(w.now), w.store.restores
	f := h.link.writeFate()
	q.carriedOut, q.answered = h.link.course(f)
	w.at(h.clock.when(q.sent.Add(w.timeout)), q.timeOut)
	if f != delivered {
		w.cov.saw(fateFaults[f])
	}
	switch {
	case f == refused || f == throttled:
		w.at(q.answered, func() {
			q.i.p.deliver(fromReply, func() {
				q.outcome = machine.Refused
				if f == throttled {
					q.retryAfter = w.between(0, w.timing.RenewInterval)
				}
				q.finish()
			})
		})
	case q.carriedOut != 0:
		w.at(q.carriedOut, q.carryOut)
	}
}

func (q *request) timeOut() {
	if q.i.p.handles() {
		q.finish()
	} else {
		q.i.p.deliver(fromReply, q.finish)
	}
}

// carryOut: the store acts.
func (q *request) carryOut() {
	h := q.i.p.h
	w := h.w
	q.entry, q.err = w.store.put(w.now, q.name, &q.record, q.replaces)
	if q.err == nil {
		if q.m != nil {
			q.m.stored(q)
		} else {
			w.judge.sessionStored(q.i, q.entry, q.sent)
		}
		if q.carriedOut > h.clock.when(q.sent.Add(w.timeout)) {
			w.cov.saw(CommittedLate)
		}
	}
	if q.answered != 0 {
		w.at(q.answered, q.reply)
	}
}

// reply: the store's answer comes in.
func (q *request) reply() {
	p := q.i.p
	switch {
	case p.h.w.now < p.h.link.deafUntil:
	case p.handles():
		q.replied()
	default:
		p.deliver(fromReply, q.replied)
	}
}

func (q *request) replied() {
	q.outcome = machine.Committed
	if q.err != nil {
		q.outcome = machine.Rejected
	}
	q.finish()
}

// finish lets the first of reply and time-out through, while the incarnation lasts.
func (q *request) finish() {
	if q.done || q.i.p.inc != q.i {
		return
	}
	q.done = true
	if q.m != nil {
		q.m.written(q)
	} else {
		q.i.written(q)
	}
}

// once lets the first of reply and time-out through, while the incarnation lasts.
func (i *incarnation) once(f func()) func() {
	done := false
	return func() {
		if !done && i.p.inc == i {
			done = true
			f()
		}
	}
}

// get sends a consistent read, and tells one of the two exactly once.
func (i *incarnation) get(name string, read func(lock.Entry, record.Instant), failed func()) {
	w := i.p.h.w
	w.after(w.upTo(2*time.Millisecond), func() {
		i.p.deliver(fromPool, func() {
			h := i.p.h
			sent := h.clock.local(w.now)
			var e lock.Entry
			ok := false
			finish := i.once(func() {
				if ok {
					read(e, sent)
				} else {
					failed()
				}
			})
			carriedOut, answered := h.link.course(h.link.readFate())
			w.at(h.clock.when(sent.Add(w.timeout)), func() { i.p.deliver(fromReply, finish) })
			if carriedOut == 0 || answered == 0 {
				return
			}
			w.at(carriedOut, func() {
				seen := w.store.read(name)
				w.at(answered, func() {
					i.p.deliver(fromReply, func() {
						e, ok = seen, true
						finish()
					})
				})
			})
		})
	})
}
