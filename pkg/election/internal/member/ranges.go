package member

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Ranges follow from the stored records alone: a term's range begins after the end of the range in the
// record that its first write replaced, whatever any clock says. Times are whole seconds, since some
// kinds of lock store no more: so we report what is stored.

// Range is the range of a term, both ends included. It does not change.
type Range struct {
	Token      record.Token
	Start, End time.Time
}

// Ranges is what a member knows of the ranges of an election, across its incarnations. The Member of the
// present incarnation owns it.
type Ranges struct {
	// known is the latest end of a range that any record showed, even if its object was deleted since.
	known time.Time
	// current is the range of our last write that we know to be committed. written are those of the
	// later writes, in order.
	current writtenRange
	written []writtenRange
	// told is the present term's range as we told it to the host; nil without one.
	told *Range
}

// Next returns what a removed election begins with when it comes back, maybe with another lock: only the
// end of the last range. g may be nil.
func (g *Ranges) Next() *Ranges {
	if g == nil {
		return &Ranges{}
	}
	return &Ranges{known: g.known}
}

// writtenRange is the range that a write of ours makes if it is committed.
type writtenRange struct {
	identity string
	beat     uint64
	token    record.Token
	start    time.Time
	renewed  time.Time
	duration time.Duration
}

// mostWritten bounds the memory of writes without an answer; the machine keeps no more.
const mostWritten = 20

// saw raises known to the end of a record's range.
func (g *Ranges) saw(r *record.Record) {
	if r == nil {
		return
	}
	if end := r.RangeEnd(); end.After(g.known) && record.Believable(end) {
		g.known = end
	}
}

// stamp sets the times that ranges need in a write; now is the wall-clock time.
func (g *Ranges) stamp(w *machine.Write, identity string, now time.Time) {
	r, floor := &w.Record, now.UTC().Truncate(time.Second)
	switch w.Purpose {
	case machine.Create:
		r.Renewed = latestTime(floor, g.known) // the taker may know less than we do
	case machine.Claim:
		r.Acquired, r.Renewed = latestTime(floor, g.known), floor
	case machine.Take:
		start := floor
		if start.Before(now) {
			start = start.Add(time.Second)
		}
		if !g.known.IsZero() {
			start = latestTime(start, g.known.Add(time.Second)) // both ends belong to a range
		}
		g.write(w, identity, start, floor)
	case machine.Renew:
		last, ours := g.last(identity, r.Token)
		if !ours || r.Claim != nil {
			r.Renewed = latestTime(floor, r.Renewed)
			return
		}
		g.write(w, identity, last.start, latestTime(floor, last.renewed))
	case machine.Release:
		r.Renewed = latestTime(floor, g.known)
	}
}

// write notes the range that a write makes, which never ends before it starts.
func (g *Ranges) write(w *machine.Write, identity string, start, renewed time.Time) {
	r := &w.Record
	renewed = latestTime(renewed, start.Add(-r.Duration))
	r.Acquired, r.Renewed = start, renewed
	kept := g.written[max(0, len(g.written)-mostWritten+1):]
	g.written = append(slices.Clone(kept), writtenRange{
		identity: identity, beat: w.Beat, token: r.Token, start: start, renewed: renewed, duration: r.Duration,
	})
}

// last is the latest write of a term of ours, committed or not.
func (g *Ranges) last(identity string, token record.Token) (writtenRange, bool) {
	for _, w := range slices.Backward(append([]writtenRange{g.current}, g.written...)) {
		if w.identity == identity && w.token == token {
			return w, true
		}
	}
	return writtenRange{}, false
}

// settle notes which of our writes the lock shows. The others cannot be stored any more: each would have
// replaced the version that the shown one replaced, or an older one. settle takes the range that we wrote,
// not the stored one, which a stranger may have edited.
func (g *Ranges) settle(s *machine.State, identity string) {
	g.saw(s.Lock.Record)
	if s.Lock.Owner != machine.Mine {
		return
	}
	for _, w := range g.written {
		if w.identity == identity && w.beat == s.Lock.Record.Mark.Beat {
			g.current, g.written = w, nil
		}
	}
}

// of is the range of the present term; nil while there is none.
func (g *Ranges) of(s *machine.State, identity string) *Range {
	w := g.current
	if s.Role != machine.Leading || w.identity != identity || w.token != s.Term.Token {
		return nil
	}
	return &Range{Token: w.token, Start: w.start, End: w.renewed.Add(w.duration)}
}

func latestTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// settleRange updates the election's Ranges after an event.
func (c *contest) settleRange(e machine.Event) {
	g := c.election.Ranges
	if g == nil {
		return
	}
	o, observed := e.(machine.Observed)
	if observed {
		g.saw(o.Record) // the machine may skip an outdated record
	}
	if observed && o.Altered && o.Record.Mark != nil { // others go by what is stored
		g.written = slices.DeleteFunc(slices.Clone(g.written), func(w writtenRange) bool {
			return w.identity == c.m.identity && w.beat == o.Record.Mark.Beat
		})
	}
	g.settle(&c.state, c.m.identity)
}

// publishRange tells the host the present term's range.
func (m *Member) publishRange(c *contest) {
	g := c.election.Ranges
	if g == nil {
		return
	}
	is, was := g.of(&c.state, m.identity), g.told
	if is == nil && was != nil || is != nil && (was == nil || *was != *is) {
		g.told = is
		if is != nil {
			g.known = latestTime(g.known, is.End)
		}
		m.out.add(Within{c.election.ID, is})
	}
}
