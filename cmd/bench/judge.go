package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
)

// overlap is a period in which two runners of one election were at work.
type overlap struct {
	a, b span.Span
	long time.Duration
}

func (o overlap) String() string {
	return fmt.Sprintf("%s: terms %d and %d were both at work for %v", o.a.Election, o.a.Token, o.b.Token, o.long)
}

// verdict is the result of judge, by the workers' own clocks.
type verdict struct {
	terms    int
	overlaps []overlap
	// falling are terms that began after a term with a higher token.
	falling []string
}

// judge compares every two spans of each election.
func judge(spans []span.Span) verdict {
	return judgeBy(spans, func(before, after span.Span) bool { return after.Token > before.Token })
}

// judgeRestarts is judge where work may be killed and start again in its term.
func judgeRestarts(spans []span.Span) verdict {
	return judgeBy(spans, func(before, after span.Span) bool { return after.Token >= before.Token })
}

func judgeBy(spans []span.Span, rises func(before, after span.Span) bool) verdict {
	v := verdict{terms: len(spans)}
	byElection := map[string][]span.Span{}
	for _, s := range spans {
		byElection[s.Election] = append(byElection[s.Election], s)
	}
	for _, of := range byElection {
		slices.SortFunc(of, func(a, b span.Span) int { return cmp.Compare(a.Begin, b.Begin) })
		for i, a := range of {
			for _, b := range of[i+1:] {
				if long := min(a.Till, b.Till).Sub(b.Begin); long > 0 {
					v.overlaps = append(v.overlaps, overlap{a, b, long})
				}
				if !rises(a, b) {
					v.falling = append(v.falling, fmt.Sprintf("%s: term %d began after term %d", b.Election, b.Token, a.Token))
				}
			}
		}
	}
	return v
}

// overlapping is the sum of all overlaps.
func (v verdict) overlapping() time.Duration {
	var sum time.Duration
	for _, o := range v.overlaps {
		sum += o.long
	}
	return sum
}

// planted is a pair of spans that overlap by 1 ms. Each run first checks that the judge sees it.
func planted() []span.Span {
	return []span.Span{
		{Election: "planted", Token: 1, Begin: 1_000_000, Till: 5_000_000, Ended: true},
		{Election: "planted", Token: 2, Begin: 4_000_000, Till: 9_000_000, Ended: true},
	}
}
