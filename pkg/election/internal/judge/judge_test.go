package judge

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestJudgeSeesWhatIsPlanted checks that the judge finds planted overlaps, and tokens that do not rise.
func TestJudgeSeesWhatIsPlanted(t *testing.T) {
	const ms = record.Instant(time.Millisecond)
	a, b := Span{Token: 1, Begin: ms, Till: 5 * ms}, Span{Token: 2, Begin: 4 * ms, Till: 9 * ms}
	for name, tt := range map[string]struct {
		spans   []Span
		overlap time.Duration
		falling int
	}{
		"overlap":      {[]Span{a, b}, time.Millisecond, 0},
		"out of order": {[]Span{b, a}, time.Millisecond, 0},
		"one within":   {[]Span{{Token: 1, Begin: ms, Till: 9 * ms}, {Token: 2, Begin: 2 * ms, Till: 4 * ms}}, 2 * time.Millisecond, 0},
		"goes on":      {[]Span{{Token: 1, Begin: ms}, {Token: 2, Begin: 2 * ms, Till: 3 * ms}}, time.Millisecond, 0},
		"one by one":   {[]Span{a, {Token: 2, Begin: a.Till, Till: 9 * ms}}, 0, 0},
		"same token":   {[]Span{a, {Token: 1, Begin: a.Till, Till: 9 * ms}}, 0, 1},
	} {
		if got := Overlapping(tt.spans); got != tt.overlap {
			t.Errorf("%s: overlap %v, want %v", name, got, tt.overlap)
		}
		if got := Falling(tt.spans); len(got) != tt.falling {
			t.Errorf("%s: falling tokens %v, want %d", name, got, tt.falling)
		}
	}
}
