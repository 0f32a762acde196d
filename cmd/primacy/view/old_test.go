package view

import (
	"strings"
	"testing"
	"time"
)

// TestOldRollout checks that a rollout's tree and its news say when the API cannot be reached, how old the picture
// is, and when that is over.
func TestOldRollout(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	const old = "the API server cannot be reached; what is shown is as of 12:00:02"
	var news RolloutNews
	for _, tt := range []struct {
		after, asOf time.Duration // asOf is zero for a picture that is not old
		tree, said  string
	}{
		{after: time.Second},
		{after: 10 * time.Second, asOf: 2 * time.Second, tree: "│  " + old + ", 8s ago", said: old},
		{after: 11 * time.Second, asOf: 2 * time.Second, tree: "│  " + old + ", 9s ago"},
		{after: 12 * time.Second, said: "the API server answers again, after 10s"},
		{after: 13 * time.Second},
	} {
		v := Rollout{At: at.Add(tt.after), Group: "edge", UID: "u", Stable: "a", Canary: "b"}
		if tt.asOf > 0 {
			v.AsOf = at.Add(tt.asOf)
		}
		var tree strings.Builder
		if err := v.WriteText(&tree); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(tree.String(), tt.tree) || tt.tree == "" && strings.Contains(tree.String(), "cannot be reached") {
			t.Errorf("after %v:\n%s", tt.after, tree.String())
		}
		if said := strings.Join(news.Since(v), "; "); said != tt.said {
			t.Errorf("after %v it said %q, want %q", tt.after, said, tt.said)
		}
	}
}
