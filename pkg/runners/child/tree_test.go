//go:build linux

package child

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

// TestWhereLimitsHold checks that the same limits hold for the tree where a control group can hold them, else for each
// process; never for both, and never less without a word.
func TestWhereLimitsHold(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("{command: [a],\n limits: {memory: 64Mi,\n  processes: 7, openFiles: 99}}"), &doc); err != nil {
		t.Fatal(err)
	}
	limits := Limits{Memory: 64 << 20, Processes: 7, OpenFiles: 99}
	somebody := &User{UID: 65534, GID: 65534}
	rootMissing := "processes: does not bind root"
	if os.Geteuid() != 0 {
		rootMissing = ""
	}
	for _, tt := range []struct {
		held          []cgroup.Controller
		user          *User
		tree          cgroup.Limits
		each          string
		weaker, lacks string
	}{
		{[]cgroup.Controller{cgroup.Memory, cgroup.Processes}, nil, cgroup.Limits{Memory: 64 << 20, Processes: 7}, "open files", "", ""},
		{[]cgroup.Controller{cgroup.Memory}, somebody, cgroup.Limits{Memory: 64 << 20}, "open files, processes", "processes: counts all processes of its user", ""},
		{[]cgroup.Controller{cgroup.Processes}, nil, cgroup.Limits{Processes: 7}, "open files, address space", "memory: bounds the address space of each process by itself: a reason", ""},
		{nil, nil, cgroup.Limits{}, "open files, address space, processes", "memory: bounds the address space of each process by itself: a reason", rootMissing},
	} {
		deadman.Within("", cgroup.Trees{Held: tt.held, Why: "a reason"})
		c := Confine(tt.user, limits)
		var weaker, lacks []string
		to := func(all *[]string) func(error) {
			return func(err error) { *all = append(*all, err.Error()) }
		}
		CheckTree(doc.Content[0], tt.user, limits, to(&lacks), to(&weaker))
		deadman.Within("", cgroup.Trees{})
		var each []string
		for _, l := range c.Limits {
			each = append(each, string(l.Resource))
		}
		if strings.Join(each, ", ") != tt.each || c.Tree != tt.tree {
			t.Errorf("%v: limits of each process: %q, of the tree: %+v", tt.held, each, c.Tree)
		}
		if got := strings.Join(weaker, "; "); !strings.Contains(got, tt.weaker) || tt.weaker == "" && got != "" {
			t.Errorf("%v, user %v: weaker: %q, want %q", tt.held, tt.user, got, tt.weaker)
		}
		if got := strings.Join(lacks, "; "); !strings.Contains(got, tt.lacks) || tt.lacks == "" && got != "" && os.Geteuid() == 0 {
			t.Errorf("%v: missing: %q, want %q", tt.held, got, tt.lacks)
		}
		if slices.ContainsFunc(weaker, func(s string) bool { return !strings.HasPrefix(s, "2:1") && !strings.HasPrefix(s, "3:") }) {
			t.Errorf("places: %q", weaker)
		}
	}
}
