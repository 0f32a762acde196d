package machine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestLosses checks that Losses tells the terms that a holder lost from those that it gave up.
func TestLosses(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	for name, tt := range map[string]struct {
		lines []string // who, and why
		want  []machine.Loss
	}{
		"nothing yet":              {},
		"taken":                    {lines: []string{"a", "took over: unowned"}},
		"released for rank":        {lines: []string{"a", "took over: free", "a", "released: better member is ready", "b", "took over: free"}},
		"left":                     {lines: []string{"a", "took over: free", "a", "released: member is leaving", "b", "took over: free"}},
		"removed":                  {lines: []string{"a", "took over: free", "a", "released: election removed"}},
		"exchanged":                {lines: []string{"a", "took over: free", "a", "released: election exchanged", "b", "took over: free"}},
		"a reason of another time": {lines: []string{"a", "took over: free", "a", "released: drained"}},
		"failed":                   {lines: []string{"a", "took over: free", "a", "released: runners failed", "b", "took over: free"}, want: []machine.Loss{{Who: "a", When: at(1)}}},
		"blind":                    {lines: []string{"a", "released: the session's own beats are not seen"}, want: []machine.Loss{{Who: "a", When: at(0)}}},
		"session lost":             {lines: []string{"a", "released: session ended"}, want: []machine.Loss{{Who: "a", When: at(0)}}},
		"not renewed":              {lines: []string{"a", "released: not renewed in time"}, want: []machine.Loss{{Who: "a", When: at(0)}}},
		"died":                     {lines: []string{"a", "took over: free", "b", "took over: orphaned"}, want: []machine.Loss{{Who: "a", When: at(1), Orphaned: true}}},
		"died again": {lines: []string{"a", "took over: free", "b", "took over: orphaned", "a", "took over: orphaned"},
			want: []machine.Loss{{Who: "a", When: at(1), Orphaned: true}, {Who: "b", When: at(2), Orphaned: true}}},
		"expired":             {lines: []string{"a", "took over: free", "b", "took over: held"}, want: []machine.Loss{{Who: "a", When: at(1)}}},
		"taken anew":          {lines: []string{"a", "took over: free", "a", "took over: mine"}},
		"stolen":              {lines: []string{"a", "took over: free", "b", "took over: foreign"}},
		"edited":              {lines: []string{"a", "took over: free", "b", "took over: unowned"}},
		"cut off":             {lines: []string{"b", "took over: orphaned"}},
		"nothing of our form": {lines: []string{"a", "", "b", "took over: orphaned", "b", "took over", "c", "took over: orphaned"}},
	} {
		t.Run(name, func(t *testing.T) {
			var h []record.Entry
			for i := 0; i < len(tt.lines); i += 2 {
				h = append(h, record.Entry{When: at(i / 2), Who: tt.lines[i], Why: tt.lines[i+1]})
			}
			if got := machine.Losses(h); !slices.Equal(got, tt.want) {
				t.Errorf("lost %v, want %v", got, tt.want)
			}
		})
	}
}

// TestFailedIn checks that only the end of a member's last term counts.
func TestFailedIn(t *testing.T) {
	line := func(who, why string) record.Entry { return record.Entry{Who: who, Why: why} }
	failed := []record.Entry{line("a", "took over: free"), line("a", "released: "+string(machine.ReasonFailed)), line("b", "took over: free")}
	again := append(slices.Clone(failed), line("a", "took over: free"), line("a", "released: "+string(machine.ReasonPreempted)))
	for _, tt := range []struct {
		history []record.Entry
		who     string
		want    bool
	}{{failed, "a", true}, {failed, "b", false}, {failed, "c", false}, {again, "a", false}, {nil, "a", false}} {
		if got := machine.FailedIn(tt.history, tt.who); got != tt.want {
			t.Errorf("%s in %v: %v", tt.who, tt.history, got)
		}
	}
}
