package sim

import (
	"strings"
	"testing"
)

// TestAProofWhileWorkGoesOnIsSeen plants ends of sessions by the parents of processes that are not dead with all
// their work, and one that is as it should be.
func TestAProofWhileWorkGoesOnIsSeen(t *testing.T) {
	for _, tt := range []struct {
		what       string
		dead, work bool
		want       string
	}{
		{"dead with its work", true, false, ""},
		{"dead, but its work goes on", true, true, "rule proof-not-patience"},
		{"alive", false, false, "rule proof-not-patience"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			w := newWorld(1, Options{Class: Judged})
			p := &proc{h: w.hosts[0], dead: tt.dead}
			m := &contest{i: &incarnation{p: p, identity: "h0_00000001"}}
			if tt.work {
				w.judge.working[0] = append(w.judge.working[0], &work{m: m, on: true})
			}
			w.judge.buried(p, m.i.identity, "uid")
			if got := w.violation; tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
				t.Errorf("the judge says %q, want %q", got, tt.want)
			}
		})
	}
}
