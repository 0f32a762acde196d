package member

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// queue holds the requests that wait to go out. Each store has a bounded number of them under way at a
// time. Renewals go first, then releases, then reads and takes, then the rest; all but renewals go no
// faster than the limit allows. For locks whose last request got no answer, reads, takes and the rest go after
// all others, and all requests take few of the slots: so however many locks do not answer, they hold up no others.
type queue struct {
	timeout time.Duration
	limit   limit
	lanes   []*lane
}

// lane holds the requests that wait for one store, and counts those under way there. A store that does
// not answer, or asks us to wait, thus holds up no other.
type lane struct {
	store Store
	// heldAt is when the store asked us to wait, and heldUntil is until when. Meanwhile one request at a
	// time goes out at probeAt, to find out whether the store still wants us to wait.
	heldAt, heldUntil, probeAt record.Instant
	// busy counts all that is under way, and mute those for locks whose last request got no answer.
	busy, mute int
	queues     [2 * kinds][]asked // by class
}

// limit is a token bucket; each request takes one.
type limit struct {
	perSecond, most, left float64
	at                    record.Instant
}

// take takes a token, or returns how long to wait for one.
func (l *limit) take(now record.Instant) time.Duration {
	l.left, l.at = min(l.most, l.left+now.Sub(l.at).Seconds()*l.perSecond), now
	if l.left < 1 {
		return max(time.Microsecond, time.Duration((1-l.left)/l.perSecond*float64(time.Second)))
	}
	l.left--
	return 0
}

// laneSize is how many requests at most are under way in one store, beats excepted. An API server
// answers a write in milliseconds, so this allows thousands a second.
const laneSize = 32

// renewalSlots is how many slots of a lane only renewals and releases may use, so that other requests
// that hang hold up neither.
const renewalSlots = 8

// muteSlots is how many slots of a lane requests may use for locks whose last request got no answer. The others
// have at least renewalSlots for renewals and releases, and as many for the rest.
const muteSlots = laneSize - 2*renewalSlots

// kinds is the number of kinds of requests. The class of a request is its kind; it is higher by kinds if the last
// request for the lock got no answer. A read by which a holder learns what became of that request counts as a renewal.
const kinds = 4

func newQueue(timeout time.Duration, perSecond float64) queue {
	most := max(1, perSecond)
	return queue{timeout: timeout, limit: limit{perSecond: perSecond, most: most, left: most}}
}

// order is in which order the classes go: renewals and releases of locks that do not answer hold up no others, since they have few slots.
var order = [2 * kinds]int{0, kinds, 1, kinds + 1, 2, 3, kinds + 2, kinds + 3}

func class(a *asked) int {
	switch {
	case a.mute && a.write == nil && a.contest.state.Lock.Owner == machine.Mine:
		return kinds // the next renewal waits for the answer
	case a.mute:
		return kinds + kind(a.request)
	}
	return kind(a.request)
}

func kind(r request) int {
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
	a.mute = a.contest != nil && a.contest.mute
	l.queues[class(&a)] = append(l.queues[class(&a)], a)
}

func (q *queue) lane(store Store) *lane {
	i := slices.IndexFunc(q.lanes, func(l *lane) bool { return l.store == store })
	if i < 0 {
		i = len(q.lanes)
		q.lanes = append(q.lanes, &lane{store: store})
	}
	return q.lanes[i]
}

// first returns the lane and class of the request that goes next. If none may go now, the lane is nil, and the instant next says when one may;
// zero means after the next answer.
func (q *queue) first(now record.Instant) (_ *lane, class int, next record.Instant) {
	for _, class := range order {
		for _, l := range q.lanes {
			free := laneSize - l.busy
			if class%kinds > 1 {
				free -= renewalSlots
			}
			if class >= kinds {
				free = min(free, muteSlots-l.mute)
			}
			if free <= 0 || len(l.queues[class]) == 0 {
				continue
			}
			at := min(l.heldUntil, l.probeAt)
			if class%kinds == 0 || now >= at || l.queues[class][0].passed() { // nothing holds up a renewal
				return l, class, 0
			}
			if next == 0 || at < next {
				next = at
			}
		}
	}
	return nil, 0, next
}

// passed says whether the write must not go out any more: we already saw another version of the object than the one that it replaces, or
// nobody may take the lock since (rule no-takeover).
func (a *asked) passed() bool {
	if a.write == nil || a.contest == nil {
		return false
	}
	known := &a.contest.state.Lock
	return a.replaces.UID != "" && known.Version != a.replaces ||
		a.purpose == machine.Take && known.Owner != machine.Mine && a.contest.preferred.revision.NoTakeover
}

// next takes out the request that goes out now. If there is none, the instant next says when to try again;
// zero means after the next answer. The caller must not send a passed request: the store would refuse it.
func (q *queue) next(now record.Instant) (a asked, passed bool, next record.Instant) {
	l, class, next := q.first(now)
	if l == nil {
		return asked{}, false, next
	}
	a = l.queues[class][0]
	passed = a.passed()
	if class%kinds > 0 && !passed {
		if wait := q.limit.take(now); wait > 0 {
			return asked{}, false, now.Add(wait)
		}
		if now < l.heldUntil {
			l.probeAt = now.Add(q.timeout / 4)
		}
	}
	l.queues[class][0] = asked{}
	if l.queues[class] = l.queues[class][1:]; len(l.queues[class]) == 0 {
		l.queues[class] = nil // free the memory that a burst needed
	}
	l.busy++
	if a.mute {
		l.mute++
	}
	return a, passed, 0
}

// forget drops all that is queued.
func (q *queue) forget() {
	for _, l := range q.lanes {
		l.queues = [2 * kinds][]asked{}
	}
}

// leaves frees the slot of a request, and notes whether its lock answers. An answer to a read says nothing of that: reads of a lock
// may be answered where writes hang.
func (q *queue) leaves(a asked, ans answer) {
	l := q.lane(a.store)
	l.busy--
	if a.mute {
		l.mute--
	}
	switch {
	case ans.outcome == lock.Unknown:
		a.contest.mute = true
	case a.write != nil && ans.sent != 0:
		a.contest.mute = false
	}
}

// finished handles the answer to a request that went out to a store. If the store asks us to wait, the
// queue holds back all elections' requests to it, renewals excepted. The wait ends early when the store answers
// a request that we sent since. However often it asks, the probes go out.
func (q *queue) finished(now record.Instant, store Store, a answer) {
	l := q.lane(store)
	switch after := a.retryAfter(); {
	case after > 0:
		if now >= l.heldUntil {
			l.probeAt = now.Add(q.timeout / 4)
		}
		l.heldAt, l.heldUntil = now, max(l.heldUntil, now.Add(after))
	case a.outcome != lock.Unknown && a.sent > l.heldAt:
		l.heldUntil = 0
	}
}

// tendQueue sends all that may go out now.
func (m *Member) tendQueue() {
	for {
		a, passed, next := m.queue.next(m.now)
		switch {
		case a.name == "":
			m.queueNext = next
			return
		case passed:
			m.conclude(a, refusal(a))
		default:
			m.send(a)
		}
	}
}
