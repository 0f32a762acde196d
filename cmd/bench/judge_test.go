package main

import (
	"testing"
	"time"
)

func TestJudgeSeesThePlantedOverlap(t *testing.T) {
	v := judge(planted())
	if len(v.overlaps) != 1 || v.overlapping() != time.Millisecond {
		t.Errorf("the judge says %+v", v)
	}
}

func TestJudgeAllowsWhatFollows(t *testing.T) {
	spans := planted()
	spans[1].Begin = spans[0].Till
	if v := judge(spans); len(v.overlaps) != 0 || len(v.falling) != 0 || v.terms != 2 {
		t.Errorf("the judge says %+v", v)
	}
	spans[1].Token = 1
	if v := judge(spans); len(v.falling) != 1 {
		t.Errorf("the judge does not see a token that does not rise: %+v", v)
	}
	if v := judgeRestarts(spans); len(v.falling) != 0 {
		t.Errorf("work that starts again in its term: %+v", v)
	}
	spans[1].Token = 0
	if v := judgeRestarts(spans); len(v.falling) != 1 {
		t.Errorf("the judge does not see a token that falls: %+v", v)
	}
}

func TestQuantiles(t *testing.T) {
	s := sample{}
	for i := range 100 {
		s = append(s, time.Duration(100-i))
	}
	for q, want := range map[float64]time.Duration{.5: 50, .9: 90, .99: 99, 1: 100} {
		if got := s.at(q); got != want {
			t.Errorf("the %v-quantile of 1..100 is %v, want %v", q, got, want)
		}
	}
}
