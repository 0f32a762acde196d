package scenario

import "testing"

func TestJudge(t *testing.T) {
	type stretch struct {
		who        string
		begin, end int64
	}
	for name, tt := range map[string]struct {
		spans          []stretch
		gaps, overlaps []int64 // lengths
	}{
		"alone":          {spans: []stretch{{"a", 0, -1}}},
		"one after":      {spans: []stretch{{"a", 0, 10}, {"b", 15, -1}}, gaps: []int64{5}},
		"at once":        {spans: []stretch{{"a", 0, 10}, {"b", 10, -1}}, gaps: []int64{0}},
		"beside":         {spans: []stretch{{"a", 0, 12}, {"b", 10, -1}}, overlaps: []int64{2}},
		"within":         {spans: []stretch{{"a", 0, 30}, {"b", 10, 12}, {"c", 20, 21}, {"b", 40, -1}}, gaps: []int64{10}, overlaps: []int64{2, 1}},
		"both last":      {spans: []stretch{{"a", 0, -1}, {"b", 90, -1}}, overlaps: []int64{10}},
		"nobody after":   {spans: []stretch{{"a", 0, 60}}, gaps: []int64{-1}},
		"before it all":  {spans: []stretch{{"a", -30, -20}, {"b", -25, -10}, {"c", -5, -1}}},
		"the same twice": {spans: []stretch{{"a", 0, 10}, {"a", 11, -1}}, gaps: []int64{1}},
	} {
		var track track
		for _, s := range tt.spans {
			// All times are shifted by 50, and gaps counts from 50 on: negative times come before.
			end := s.end
			if s.begin >= 0 && end >= 0 || s.begin < 0 && end != -1 {
				end += 50
			}
			track.spans = append(track.spans, &span{member: s.who, begin: s.begin + 50, end: end})
		}
		gaps, overlaps := track.gaps(50, 150)
		var gotGaps, gotOverlaps []int64
		for _, g := range gaps {
			if g.to == nil {
				gotGaps = append(gotGaps, -1)
			} else {
				gotGaps = append(gotGaps, g.end-g.begin)
			}
		}
		for _, o := range overlaps {
			gotOverlaps = append(gotOverlaps, o.end-o.begin)
		}
		if !same(gotGaps, tt.gaps) || !same(gotOverlaps, tt.overlaps) {
			t.Errorf("%s: gaps %v, overlaps %v; want %v and %v", name, gotGaps, gotOverlaps, tt.gaps, tt.overlaps)
		}
	}
}

func same(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
