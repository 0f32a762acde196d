package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// overlap is a stretch in which two runners of one election were at work.
type overlap struct {
	a, b span
	long time.Duration
}

func (o overlap) String() string {
	return fmt.Sprintf("%s: terms %d and %d were both at work for %v", o.a.election, o.a.token, o.b.token, o.long)
}

// verdict is what the workers' own clocks say.
type verdict struct {
	terms    int
	overlaps []overlap
	// falling are terms that began after a term with a higher token.
	falling []string
}

// judge compares every two spans of each election.
func judge(spans []span) verdict {
	v := verdict{terms: len(spans)}
	byElection := map[string][]span{}
	for _, s := range spans {
		byElection[s.election] = append(byElection[s.election], s)
	}
	for _, of := range byElection {
		slices.SortFunc(of, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
		for i, a := range of {
			for _, b := range of[i+1:] {
				if long := min(a.till, b.till).Sub(b.begin); long > 0 {
					v.overlaps = append(v.overlaps, overlap{a, b, long})
				}
				if b.token <= a.token {
					v.falling = append(v.falling, fmt.Sprintf("%s: term %d began after term %d", b.election, b.token, a.token))
				}
			}
		}
	}
	return v
}

// overlapping is how long, in all, two were at work.
func (v verdict) overlapping() time.Duration {
	var sum time.Duration
	for _, o := range v.overlaps {
		sum += o.long
	}
	return sum
}

// planted is a pair of spans that overlap by 1 ms; a judge that does not see it is blind.
func planted() []span {
	return []span{
		{election: "planted", token: 1, begin: 1_000_000, till: 5_000_000, ended: true},
		{election: "planted", token: 2, begin: 4_000_000, till: 9_000_000, ended: true},
	}
}
