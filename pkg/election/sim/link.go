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
	writes, reads           fate
	writesUntil, readsUntil int64
	// deafUntil is until when no reply comes in, whatever became of its request.
	deafUntil int64
	// latency is what a request and its reply take each, at least and at most.
	least, most time.Duration
}

func (w *world) pickLink() link {
	l := link{least: time.Millisecond, most: 10 * time.Millisecond}
	if w.chance(0.3) {
		l.most = w.timing.RenewInterval / 4
	}
	return l
}

func (h *host) latency() time.Duration { return h.w.between(h.link.least, h.link.most) }

func (h *host) writeFate() fate {
	if h.w.now < h.link.writesUntil {
		return h.link.writes
	}
	if h.w.calm || !h.w.chance(h.w.noise) {
		return delivered
	}
	return requestLost + fate(h.w.rng.IntN(int(fates-requestLost)))
}

func (h *host) readFate() fate {
	if h.w.now < h.link.readsUntil {
		return h.link.reads
	}
	if h.w.calm || !h.w.chance(h.w.noise) {
		return delivered
	}
	return requestLost + fate(h.w.rng.IntN(int(refused-requestLost)))
}

// course is when a request is carried out and when its reply comes in; zero for never.
func (h *host) course(f fate) (carriedOut, answered int64) {
	w := h.w
	soon := w.now + int64(h.latency())
	back := int64(h.latency())
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

// answer is what a driver learns of a write.
type answer struct {
	outcome    machine.Outcome
	entry      lock.Entry // with Committed
	sent       record.Instant
	retryAfter time.Duration
}

// put sends a write through the pool of its member, and tells done exactly once.
func (i *incarnation) put(name string, r record.Record, replaces record.Version, committed func(lock.Entry, record.Instant), done func(answer)) {
	w := i.p.h.w
	queued := w.upTo(2 * time.Millisecond)
	if !w.calm && w.chance(w.noise) {
		queued = w.upTo(w.timing.RenewInterval)
	}
	w.after(queued, func() {
		i.p.deliver(fromPool, func() { i.send(name, r, replaces, committed, done) })
	})
}

func (i *incarnation) send(name string, r record.Record, replaces record.Version, committed func(lock.Entry, record.Instant), done func(answer)) {
	h := i.p.h
	w := h.w
	a := answer{outcome: machine.Unknown, sent: h.clock.local(w.now)}
	finish := i.once(func() { done(a) })
	f := h.writeFate()
	carriedOut, answered := h.course(f)
	w.at(h.clock.when(a.sent.Add(w.timeout)), func() { i.p.deliver(fromReply, finish) })
	if f != delivered {
		w.cov.saw(fateFaults[f])
	}
	switch f {
	case refused, throttled:
		w.at(answered, func() {
			i.p.deliver(fromReply, func() {
				a.outcome = machine.Refused
				if f == throttled {
					a.retryAfter = w.between(0, w.timing.RenewInterval)
				}
				finish()
			})
		})
		return
	}
	if carriedOut == 0 {
		return
	}
	w.at(carriedOut, func() {
		e, err := w.store.put(w.now, name, r, replaces)
		if err == nil {
			committed(e, a.sent)
			if carriedOut > h.clock.when(a.sent.Add(w.timeout)) {
				w.cov.saw(CommittedLate)
			}
		}
		if answered == 0 {
			return
		}
		w.at(answered, func() {
			if w.now < h.link.deafUntil {
				return
			}
			i.p.deliver(fromReply, func() {
				a.outcome = machine.Committed
				if err != nil {
					a.outcome = machine.Rejected
				}
				a.entry = e
				finish()
			})
		})
	})
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
			carriedOut, answered := h.course(h.readFate())
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
