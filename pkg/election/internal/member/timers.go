package member

import (
	"container/heap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// timers is a heap of contests by the instant that each waits for. A contest that waits for nothing is
// not in it.
type timers []*contest

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	a, b := t[i], t[j]
	if a.wakeAt == b.wakeAt {
		return a.lot() < b.lot()
	}
	return a.wakeAt < b.wakeAt
}

// lot orders contests that are due at one instant. The order differs between members: otherwise all that
// wait for a dead member's locks would write to each lock at the same moment.
func (c *contest) lot() uint64 { return (uint64(c.place) + 1) * c.m.salt } // #nosec G115 -- a place is small

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].slot, t[j].slot = int32(i), int32(j) // #nosec G115 -- as many as there are elections
}

// Push and Pop are heap's; use set and due.
func (t *timers) Push(x any) {
	c := x.(*contest)
	c.slot = int32(len(*t)) // #nosec G115 -- as many as there are elections
	*t = append(*t, c)
}

func (t *timers) Pop() any {
	old := *t
	c := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	c.slot = notQueued
	return c
}

// notQueued is the slot of a contest that is not in the heap.
const notQueued = -1

// set makes c wait for at; zero for nothing.
func (t *timers) set(c *contest, at record.Instant) {
	c.wakeAt = at
	switch {
	case at == 0 && c.slot != notQueued:
		heap.Remove(t, int(c.slot))
	case at == 0:
	case c.slot == notQueued:
		heap.Push(t, c)
	default:
		heap.Fix(t, int(c.slot))
	}
}

// due takes out a contest whose instant has come; nil if there is none.
func (t *timers) due(now record.Instant) *contest {
	if len(*t) == 0 || (*t)[0].wakeAt > now {
		return nil
	}
	return heap.Pop(t).(*contest)
}

// next is the earliest instant that a contest waits for; zero for none.
func (t timers) next() record.Instant {
	if len(t) == 0 {
		return 0
	}
	return t[0].wakeAt
}

// rewake sets the contest's timer to the earliest instant at which it has something to do.
func (m *Member) rewake(c *contest) {
	if c.over {
		return
	}
	at := c.state.WakesAt()
	if n := c.noticeAt; n != 0 && (at == 0 || n < at) {
		at = n
	}
	if c.alarm != nil && (at == 0 || c.alarm.at < at) {
		at = c.alarm.at
	}
	if c.waiting != nil {
		if w := c.waiting.at(); w != 0 && (at == 0 || w < at) {
			at = w
		}
	}
	if at != c.wakeAt || at != 0 && c.slot == notQueued {
		m.timers.set(c, at)
	}
}

// woken does what the contest's timer was set for.
func (m *Member) woken(c *contest) {
	switch at := c.state.WakesAt(); {
	case at != 0 && at <= m.now:
		m.handle(c, machine.Tick{})
	case c.inner != nil: // the host hears of the term from the inner contest, whose health is that of both
		m.tendMove(c)
		m.tendAlarm(c)
	default:
		m.notice(c)
	}
	m.rewake(c)
}
