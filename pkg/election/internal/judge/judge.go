// Package judge finds out, for tests, whether two members ever worked at the same time, by the
// clocks of the work itself.
package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Span is one stretch of work, by its own clock. Told is when it was told to stop, Till when it had
// stopped; both are zero before that.
type Span struct {
	Member            string
	Token             record.Token
	Begin, Told, Till record.Instant
}

// Overlapping is the total time during which two of the spans were at work.
func Overlapping(spans []Span) time.Duration {
	var sum time.Duration
	for i, a := range spans {
		for _, b := range spans[i+1:] {
			sum += max(0, min(a.end(), b.end()).Sub(max(a.Begin, b.Begin)))
		}
	}
	return sum
}

// end is Till, or later than any other end if the span goes on.
func (s Span) end() record.Instant {
	if s.Till == 0 {
		return 1 << 62
	}
	return s.Till
}

// Falling lists the tokens that did not rise.
func Falling(spans []Span) (found []string) {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b Span) int { return cmp.Compare(a.Begin, b.Begin) })
	for i, s := range sorted[min(1, len(sorted)):] {
		if before := sorted[i]; s.Token <= before.Token {
			found = append(found, fmt.Sprintf("token %d of %s after %d of %s", s.Token, s.Member, before.Token, before.Member))
		}
	}
	return found
}
