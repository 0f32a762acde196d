package primacy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/primacy-dev/primacy"

// line is a rule: it says what packages never import, and why. Patterns are as in the go command:
// "x/..." is x and all packages below it; "./" is this module. "*" is one folder.
type line struct {
	of      string   // the packages for which the line is a rule
	but     []string // exceptions among these packages
	never   []string // what the packages must not import directly
	except  []string // exceptions among the imports in never
	deep    []string // what the packages must not import directly or through others
	because string
}

const (
	k8s  = "k8s.io/..."
	nets = "net/..."
	zap  = "go.uber.org/zap/..."
)

// adapters are the folders with one technology each. The test suites among them, such
// as locktest, obey the same rules.
var adapters = []string{"./pkg/election/lock/*/...", "./pkg/runners/*/...", "./pkg/revisions/*/..."}

// shared are packages that adapters of one kind have in common; they do not stand for one technology.
var shared = []string{"./pkg/election/lock/apiserver", "./pkg/runners/cgroup", "./pkg/runners/child", "./pkg/runners/deadman", "./pkg/runners/probe", "./pkg/revisions/object", "./pkg/revisions/rollout/...", "./pkg/revisions/steering"}

var lines = []line{
	{
		of: "./pkg/priority", never: []string{"context", "./..."}, except: []string{"./pkg/election/record"},
		deep:    []string{k8s, nets, zap},
		because: "who outranks whom is a function of keys, and a test enumerates it",
	},
	{
		of: "./pkg/election/record", never: []string{"./..."},
		deep:    []string{k8s, nets, zap},
		because: "every part shares this data, so it brings nothing with it",
	},
	{
		of: "./pkg/strict", never: []string{"./..."},
		deep:    []string{k8s, nets, zap},
		because: "registries everywhere decode with it, so it is a leaf",
	},
	{
		of: "./pkg/election/internal/machine", never: []string{"context", "sync/..."},
		deep:    []string{k8s, nets, zap},
		because: "time, randomness and results of I/O are inputs: a schedule that broke a rule replays identically",
	},
	{
		of: "./pkg/election/lock", never: []string{"./pkg/election", "./pkg/priority", "./pkg/runners/..."},
		deep:    []string{k8s, nets, zap},
		because: "a store knows records and versions, not why they are written, and any technology can be one",
	},
	{
		of: "./pkg/election/internal/session", never: []string{"./pkg/runners/...", "./pkg/revisions/..."},
		deep:    []string{k8s, nets, zap},
		because: "who lives does not depend on the work there is, or on who should lead",
	},
	{
		of: "./pkg/election/internal/member", never: append([]string{"context", "sync/...", "os", "./pkg/election", "./pkg/election/clock"}, adapters...),
		deep:    []string{k8s},
		because: "what is simulated is what runs: whatever happens to a member is an input, and what it does an effect",
	},
	{
		of: "./pkg/election", never: adapters,
		deep:    []string{k8s},
		because: "who uses the library chooses the technology: a new kind is one folder and one line, never a change here",
	},
	{
		of: "./pkg/election/fence", never: append([]string{"./pkg/election/internal/machine", "./pkg/election/internal/session", "./pkg/election/lock", "./pkg/priority"}, adapters...),
		deep:    []string{k8s},
		because: "a gate asks whether a term is valid and no more, and stands before any client",
	},
	{
		of: "./...", but: []string{"./pkg/election/metrics", "./pkg/runners/metrics", "./cmd/primacy/..."},
		never:   []string{"github.com/prometheus/..."},
		because: "who uses the library chooses how it is watched; metrics read a Status and Figures, as anybody can",
	},
	{
		of: "./...", but: []string{"./pkg/election/primacytest"},
		never:   []string{"./pkg/election/primacytest"},
		because: "what is for tests is in no program",
	},
	{
		of: "./pkg/election/metrics", never: append([]string{"./pkg/election/internal/session", "./pkg/runners/..."}, adapters...),
		deep:    []string{k8s},
		because: "what is shown is what every user of the library can ask for",
	},
	{
		of: "./pkg/revisions", never: []string{"./pkg/runners/..."},
		deep:    []string{k8s},
		because: "which revision should lead does not depend on the work there is",
	},
	{
		of: "./pkg/revisions/rollout/...", never: []string{"context", "sync/...", "./pkg/election"},
		deep:    []string{k8s, nets, zap},
		because: "how a rollout goes on follows from what is stored and seen, so that any controller goes on where the one before it stopped",
	},
	{
		of: "./pkg/runners", never: []string{"./pkg/election/lock/*/..."},
		deep:    []string{k8s},
		because: "work learns of its term and nothing of where the lock is kept",
	},
	{
		of: "./config/...", never: adapters,
		because: "a registry decodes the blocks of runners, locks and sources: a new kind is never a change here",
	},
	{
		of: "./...", but: []string{"./pkg/election/internal/sim/..."},
		never:   []string{"./pkg/election/internal/sim/..."},
		because: "the simulator is for tests",
	},
	{
		of: "./...", but: []string{"./cmd/primacy/..."},
		never:   []string{"./pkg/election/scenario"},
		because: "scenarios are for `primacy simulate`",
	},
}

// graph maps each package to its imports, without the imports of its tests.
type graph map[string][]string

func TestImports(t *testing.T) {
	g := load(t)
	for _, l := range lines {
		report(t, l.check(g))
		report(t, l.vacuous(g))
	}
	report(t, checkAdapters(g))
	report(t, line{except: shared, because: "adapters share it"}.vacuous(g))
}

// load asks the go command for the packages of this module and all their dependencies.
func load(t *testing.T) graph {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports", "./...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	g := graph{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return g
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		g[p.ImportPath] = p.Imports
	}
}

// check lists where packages break the rule.
func (l line) check(g graph) (broken []string) {
	for _, p := range slices.Sorted(maps.Keys(g)) {
		if !matches(p, l.of) || matchesAny(p, l.but) {
			continue
		}
		for _, imported := range g[p] {
			if matchesAny(imported, l.never) && !matchesAny(imported, l.except) {
				broken = append(broken, fmt.Sprintf("%s imports %s, but %s", p, imported, l.because))
			}
		}
		for _, pattern := range l.deep {
			if route := g.route(p, pattern); route != nil {
				broken = append(broken, fmt.Sprintf("%s, but %s", strings.Join(route, " imports "), l.because))
			}
		}
	}
	return broken
}

// route is a shortest import chain from p to a package that matches the pattern; nil if there is none.
func (g graph) route(p, pattern string) []string {
	cameFrom := map[string]string{p: ""}
	for queue := []string{p}; len(queue) > 0; queue = queue[1:] {
		for _, imported := range g[queue[0]] {
			if _, seen := cameFrom[imported]; seen {
				continue
			}
			cameFrom[imported] = queue[0]
			if !matches(imported, pattern) {
				queue = append(queue, imported)
				continue
			}
			var route []string
			for at := imported; at != ""; at = cameFrom[at] {
				route = append(route, at)
			}
			slices.Reverse(route)
			return route
		}
	}
	return nil
}

// vacuous lists patterns that match no package of ours, so that renaming a package cannot
// silence its rule.
func (l line) vacuous(g graph) (missing []string) {
	for _, pattern := range slices.Concat([]string{l.of}, l.but, l.never, l.except) {
		named := func(p string) bool { return matches(p, pattern) }
		if strings.HasPrefix(pattern, "./") && !slices.ContainsFunc(slices.Collect(maps.Keys(g)), named) {
			missing = append(missing, fmt.Sprintf("no package is %s, so nothing says that %s", pattern, l.because))
		}
	}
	return missing
}

// checkAdapters lists where an adapter imports another one.
func checkAdapters(g graph) (broken []string) {
	for _, p := range slices.Sorted(maps.Keys(g)) {
		for _, imported := range g[p] {
			from, to := adapterOf(p), adapterOf(imported)
			if from != "" && to != "" && from != to && !matchesAny(imported, shared) {
				broken = append(broken, fmt.Sprintf("%s imports %s, but an adapter that leaves takes nothing else with it", p, imported))
			}
		}
	}
	return broken
}

// adapterOf is the folder of the adapter to which the package belongs; empty for none.
func adapterOf(p string) string {
	for _, pattern := range adapters {
		if matches(p, pattern) {
			return cut(p, pattern)
		}
	}
	return ""
}

func matchesAny(p string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(p, pattern) })
}

func matches(p, pattern string) bool {
	if strings.HasSuffix(pattern, "/...") {
		p = cut(p, pattern)
	}
	ok, err := path.Match(base(pattern), p)
	return ok && err == nil
}

// cut shortens a path to as many elements as the pattern has before its dots.
func cut(p, pattern string) string {
	elements := strings.Split(p, "/")
	return strings.Join(elements[:min(len(elements), 1+strings.Count(base(pattern), "/"))], "/")
}

// base is the pattern as a full path without dots at its end.
func base(pattern string) string {
	pattern = strings.TrimSuffix(pattern, "/...")
	if rest, ours := strings.CutPrefix(pattern, "."); ours {
		return module + rest
	}
	return pattern
}

// TestImportsBite checks that every rule in lines can fail: it makes up an import that the rule
// forbids, and expects the rule to report it.
func TestImportsBite(t *testing.T) {
	planted := func(pattern string) string { return strings.ReplaceAll(base(pattern), "*", "planted") }
	for _, l := range lines {
		t.Run(l.of, func(t *testing.T) {
			p := planted(l.of)
			if broken := l.check(graph{p: append([]string{"fmt"}, l.except...)}); broken != nil {
				t.Errorf("nothing planted, yet: %q", broken)
			}
			for _, pattern := range l.never {
				if l.check(graph{p: {"fmt", planted(pattern)}}) == nil {
					t.Errorf("the import of %s was not found", planted(pattern))
				}
			}
			for _, pattern := range l.deep {
				far := graph{p: {"fmt", "example.org/near"}, "example.org/near": {"example.org/far"}, "example.org/far": {planted(pattern)}}
				if l.check(far) == nil {
					t.Errorf("the import of %s through others was not found", planted(pattern))
				}
			}
			for _, exempt := range l.but {
				if broken := l.check(graph{planted(exempt): {planted(l.never[0])}}); broken != nil {
					t.Errorf("%s is exempt, yet: %q", exempt, broken)
				}
			}
			if l.of != "./..." && l.vacuous(graph{module: nil}) == nil {
				t.Errorf("nobody noticed that there is no package %s", l.of)
			}
		})
	}
	for _, from := range adapters {
		p := planted(from)
		if broken := checkAdapters(graph{p: {base(shared[0])}}); broken != nil {
			t.Errorf("an adapter imports what is shared, yet: %q", broken)
		}
		if broken := checkAdapters(graph{p: {p + "/internal/x", "example.org/x"}, p + "/internal/x": {p}}); broken != nil {
			t.Errorf("an adapter imports what is its own, yet: %q", broken)
		}
		for _, to := range adapters {
			if checkAdapters(graph{p + "/internal/x": {base(strings.ReplaceAll(to, "*", "other"))}}) == nil {
				t.Errorf("an adapter's import of another was not found: %s, %s", from, to)
			}
		}
	}
}

// TestPatterns checks the meaning of patterns, since all rules depend on it.
func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{
		{"net/...", "net", true},
		{"net/...", "net/http", true},
		{"net/...", "nettle", false},
		{"context", "context/x", false},
		{"./...", module, true},
		{"./...", module + "/pkg/election", true},
		{"./...", module + "x/pkg", false},
		{"./pkg/election", module + "/pkg/election", true},
		{"./pkg/election", module + "/pkg/election/record", false},
		{"./pkg/runners/*/...", module + "/pkg/runners", false},
		{"./pkg/runners/*/...", module + "/pkg/runners/exec", true},
		{"./pkg/runners/*/...", module + "/pkg/runners/exec/internal/x", true},
	} {
		if got := matches(tt.path, tt.pattern); got != tt.want {
			t.Errorf("%s matches %s = %v, want %v", tt.path, tt.pattern, got, tt.want)
		}
	}
}
