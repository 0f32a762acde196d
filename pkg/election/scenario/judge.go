package scenario

import (
	"slices"
)

// judge records when work was on, and whose. It knows nothing of locks.
type judge struct {
	elections []track
	// changedAt is when any work last began or ended.
	changedAt int64
	// outlived counts work that only its guard ended, at the deadline.
	outlived int
}

// track is what one election saw.
type track struct {
	// spans are all terms' work, in the order in which it began.
	spans []*span
}

// span is the work of one term.
type span struct {
	election   int
	member     string
	begin, end int64 // end is negative while it lasts
	why        string
}

func (s *span) over() bool { return s.end >= 0 }

func newJudge(elections int) *judge { return &judge{elections: make([]track, elections)} }

func (j *judge) begin(now int64, election int, member string) *span {
	s := &span{election: election, member: member, begin: now, end: -1}
	j.elections[election].spans = append(j.elections[election].spans, s)
	j.changedAt = now
	return s
}

func (j *judge) end(now int64, s *span, why string) {
	s.end, s.why = now, why
	j.changedAt = now
}

func (t *track) leader() string {
	for _, s := range slices.Backward(t.spans) {
		if !s.over() {
			return s.member
		}
	}
	return ""
}

func (j *judge) allLed() bool {
	return !slices.ContainsFunc(j.elections, func(t track) bool { return t.leader() == "" })
}

// ledBy are the elections that the member leads now.
func (j *judge) ledBy(member string) (led []int) {
	for e := range j.elections {
		if j.elections[e].leader() == member {
			led = append(led, e)
		}
	}
	return led
}

// gap is a time without any work. A negative end means until the end of the play.
type gap struct {
	begin, end int64
	from, to   *span // the work before and after; to is nil if nobody came after
}

// gaps returns the gaps and the overlaps that end after since.
func (t *track) gaps(since, now int64) (gaps []gap, overlaps []overlap) {
	var last *span // of the spans so far, the one that ends last
	for _, s := range t.spans {
		end := now
		if s.over() {
			end = s.end
		}
		if last != nil && s.begin < till(last, now) {
			if o := (overlap{last, s, s.begin, min(end, till(last, now))}); o.end > since && o.end > o.begin {
				overlaps = append(overlaps, o)
			}
		} else if last != nil && s.begin >= since {
			gaps = append(gaps, gap{last.end, s.begin, last, s})
		}
		if last == nil || end >= till(last, now) {
			last = s
		}
	}
	if last != nil && last.over() {
		gaps = append(gaps, gap{last.end, -1, last, nil})
	}
	return gaps, overlaps
}

func till(s *span, now int64) int64 {
	if s.over() {
		return s.end
	}
	return now
}

// overlap is a time in which two members were at work.
type overlap struct {
	a, b       *span
	begin, end int64
}
