package member

import (
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A write of ours counts only if the store keeps it as we sent it: electors of client-go rely on its times,
// and so do ranges. The answer says whether the store did. If the answer is lost, the stream or a read shows
// what the store kept.

// sending is a write that went out to a lock, with the times that other electors rely on.
type sending struct {
	beat              uint64
	acquired, renewed time.Time
	duration          time.Duration
	after             uint64 // as in asked
}

// mostSendings bounds the memory of writes without an answer; the machine keeps no more.
const mostSendings = 20

// sends notes a write that goes out.
func (c *contest) sends(r *record.Record, after uint64) {
	if r.Mark != nil && !c.over {
		sent := c.m.sendings[c]
		kept := sent[max(0, len(sent)-mostSendings+1):]
		c.m.sendings[c] = append(slices.Clone(kept), sending{r.Mark.Beat, r.Acquired, r.Renewed, r.Duration, after})
	}
}

// stored forgets the writes up to the number beat: the store is known to have kept the write of that number
// as we sent it.
func (c *contest) stored(beat uint64) {
	left := slices.DeleteFunc(c.m.sendings[c], func(s sending) bool { return s.beat <= beat })
	if len(left) == 0 {
		delete(c.m.sendings, c)
		return
	}
	c.m.sendings[c] = left
}

// altered says whether the record of the lock is a write of ours that the store did not keep as we sent it. If the
// store gave that write an older revision than we knew when we sent it, the store was restored.
func (m *Member) altered(c *contest, e lock.Entry) bool {
	r := e.Record
	if r == nil || r.Holder != m.identity || !r.Bound() {
		return false
	}
	sent := m.sendings[c]
	i := slices.IndexFunc(sent, func(s sending) bool { return s.beat == r.Mark.Beat })
	if i < 0 {
		return false
	}
	if e.Version.Revision <= sent[i].after {
		m.restored()
	}
	if s := sent[i]; s.duration == r.Duration && sameTime(s.acquired, r.Acquired) && sameTime(s.renewed, r.Renewed) {
		c.stored(s.beat)
		return false
	}
	m.trouble.note("write", c.lock, fmt.Errorf("%s: %w: its times differ", c.lock.name, lock.ErrAltered))
	return true
}

// sameTime says whether a stored time is the one that we sent; some kinds of lock keep whole seconds only.
func sameTime(sent, stored time.Time) bool {
	return sent.Truncate(time.Microsecond).Equal(stored) || sent.Truncate(time.Second).Equal(stored)
}
