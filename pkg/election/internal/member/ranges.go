package member

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Ranges are a matter of data: a term's range begins after the end of the range that stood
// in the record which its first write replaced, whatever anybody's clock says. Times are
// whole seconds, so that what is stored is what is reported in every kind of lock.

// Range is the range of a term, both ends included. It does not change.
type Range struct {
	Token      record.Token
	Start, End time.Time
}

// Ranges is what a member keeps of the ranges of an election, beyond one incarnation. The
// Member that has it owns it.
type Ranges struct {
	// known is the latest end of a range that any record showed, also of one that is gone.
	known time.Time
	// current is that of our last write that is known to be committed; written are those of
	// the writes that were asked for since, the last one last.
	current writtenRange
	written []writtenRange
	// told is what the host was told of the present term; nil without one.
	told *Range
}

// Next is what an election begins with that comes back, maybe with another lock: nothing but the end
// of the last range. It may be called on nil, where nothing is known.
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

// mostWritten bounds the memory of writes without a reply; the machine keeps no more.
const mostWritten = 20

// saw takes in what somebody showed.
func (g *Ranges) saw(r *record.Record) {
	if r == nil {
		return
	}
	if end := r.RangeEnd(); end.After(g.known) && end.Year() < lastRangeYear {
		g.known = end
	}
}

// lastRangeYear is from when on a time is nonsense rather than a range's end.
const lastRangeYear = 9000

// stamp gives a write, asked for at the wall-clock time now, the times that ranges need.
func (g *Ranges) stamp(w *machine.Write, identity string, now time.Time) {
	r, floor := &w.Record, now.UTC().Truncate(time.Second)
	switch w.Purpose {
	case machine.Create:
		r.Renewed = latestTime(floor, g.known) // who takes it may know less than we do
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

// last is the latest write of a term of ours, whatever became of it.
func (g *Ranges) last(identity string, token record.Token) (writtenRange, bool) {
	for _, w := range slices.Backward(append([]writtenRange{g.current}, g.written...)) {
		if w.identity == identity && w.token == token {
			return w, true
		}
	}
	return writtenRange{}, false
}

// settle takes in what the lock shows of our writes. Those before the one that it shows
// are history: they were conditional on what that one replaced, or on less. The range is
// what we wrote: what is stored a stranger may have edited.
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

// settleRange takes in what an event showed of the lock.
func (c *contest) settleRange(e machine.Event) {
	g := c.election.Ranges
	if g == nil {
		return
	}
	if o, ok := e.(machine.Observed); ok {
		g.saw(o.Record) // the machine may pass over what is history
	}
	g.settle(&c.state, c.m.identity)
}

// publishRange tells the host of the present term's range.
func (m *Member) publishRange(c *contest) {
	g := c.election.Ranges
	if g == nil {
		return
	}
	is, was := g.of(&c.state, m.identity), g.told
	if is == nil && was != nil || is != nil && (was == nil || *was != *is) {
		g.told = is
		m.out.add(Within{c.election.ID, is})
	}
}
