package hostile_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// span is one stretch of work, by the runner's own clock. told and till are zero until it
// was told to stop, and until it had stopped.
type span struct {
	member            string
	token             record.Token
	begin, told, till record.Instant
}

// overlapping is how long, in all, two of the spans were at work.
func overlapping(spans []span) time.Duration {
	var sum time.Duration
	for i, a := range spans {
		for _, b := range spans[i+1:] {
			sum += max(0, min(end(a), end(b)).Sub(max(a.begin, b.begin)))
		}
	}
	return sum
}

// end of a span that goes on is later than that of any other.
func end(s span) record.Instant {
	if s.till == 0 {
		return 1 << 62
	}
	return s.till
}

// falling lists the tokens that did not rise.
func falling(spans []span) (found []string) {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	for i, s := range sorted[min(1, len(sorted)):] {
		if before := sorted[i]; s.token <= before.token {
			found = append(found, fmt.Sprintf("token %d of %s after %d of %s", s.token, s.member, before.token, before.member))
		}
	}
	return found
}

// A judge that does not see what is planted is blind.
func TestJudgeSeesWhatIsPlanted(t *testing.T) {
	const ms = record.Instant(time.Millisecond)
	a, b := span{token: 1, begin: ms, till: 5 * ms}, span{token: 2, begin: 4 * ms, till: 9 * ms}
	for name, tt := range map[string]struct {
		spans   []span
		overlap time.Duration
		falling int
	}{
		"overlap":      {[]span{a, b}, time.Millisecond, 0},
		"out of order": {[]span{b, a}, time.Millisecond, 0},
		"one within":   {[]span{{token: 1, begin: ms, till: 9 * ms}, {token: 2, begin: 2 * ms, till: 4 * ms}}, 2 * time.Millisecond, 0},
		"goes on":      {[]span{{token: 1, begin: ms}, {token: 2, begin: 2 * ms, till: 3 * ms}}, time.Millisecond, 0},
		"one by one":   {[]span{a, {token: 2, begin: a.till, till: 9 * ms}}, 0, 0},
		"same token":   {[]span{a, {token: 1, begin: a.till, till: 9 * ms}}, 0, 1},
	} {
		if got := overlapping(tt.spans); got != tt.overlap {
			t.Errorf("%s: overlap %v, want %v", name, got, tt.overlap)
		}
		if got := falling(tt.spans); len(got) != tt.falling {
			t.Errorf("%s: falling tokens %v, want %d", name, got, tt.falling)
		}
	}
}
