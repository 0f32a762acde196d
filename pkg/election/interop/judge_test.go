package interop_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// span is one stretch of somebody's work, by that worker's own clock.
type span struct {
	who        string
	from, till record.Instant // till is zero while it goes on
	token      record.Token   // zero for an elector of client-go
	reason     string         // why it ended, where that is known
}

func (s *span) String() string { return fmt.Sprintf("%s (term %d)", s.who, s.token) }

// judge returns what is wrong with the spans of one election: spans that overlap, and
// tokens that do not rise.
func judge(spans []*span) (overlaps []time.Duration, wrong []string) {
	byBegin := slices.SortedFunc(slices.Values(spans), func(a, b *span) int { return cmp.Compare(a.from, b.from) })
	var token record.Token
	for i, s := range byBegin {
		if s.token != 0 && s.token <= token {
			wrong = append(wrong, fmt.Sprintf("token of %v after %d", s, token))
		}
		token = max(token, s.token)
		for _, later := range byBegin[i+1:] {
			end := s.till
			if later.till != 0 && (end == 0 || later.till < end) {
				end = later.till
			}
			if end == 0 {
				wrong = append(wrong, fmt.Sprintf("%v and %v are both at work", s, later))
			} else if both := end.Sub(later.from); both > 0 {
				overlaps = append(overlaps, both)
				wrong = append(wrong, fmt.Sprintf("%v and %v were both at work for %v", s, later, both))
			}
		}
	}
	return overlaps, wrong
}

// TestJudgeBites checks that the judge finds planted overlaps and planted tokens that do not rise.
func TestJudgeBites(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spans []*span
		want  string // empty when nothing is wrong
	}{
		{"one after the other", []*span{{who: "a", from: 1, till: 5, token: 1}, {who: "b", from: 5, till: 9}, {who: "c", from: 9, token: 2}}, ""},
		{"a nanosecond", []*span{{who: "a", from: 1, till: 6, token: 1}, {who: "b", from: 5, till: 9}}, "for 1ns"},
		{"in any order", []*span{{who: "b", from: 5, till: 9}, {who: "a", from: 1, till: 6, token: 1}}, "for 1ns"},
		{"one within another", []*span{{who: "a", from: 1, till: 20}, {who: "b", from: 5, till: 9}}, "for 4ns"},
		{"one within an open one", []*span{{who: "a", from: 1}, {who: "b", from: 5, till: 9}}, "for 4ns"},
		{"not with a neighbour", []*span{{who: "a", from: 1, till: 20}, {who: "b", from: 2, till: 3}, {who: "c", from: 19, till: 30}}, "a (term 0) and c (term 0)"},
		{"both open", []*span{{who: "a", from: 1}, {who: "b", from: 5}}, "both at work"},
		{"the same token", []*span{{who: "a", from: 1, till: 2, token: 7}, {who: "b", from: 3, till: 4}, {who: "c", from: 5, token: 7}}, "token"},
		{"a falling token", []*span{{who: "a", from: 1, till: 2, token: 7}, {who: "c", from: 5, token: 6}}, "token"},
	} {
		_, wrong := judge(tt.spans)
		if got := strings.Join(wrong, "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: found %q, want %q", tt.name, got, tt.want)
		}
	}
}
