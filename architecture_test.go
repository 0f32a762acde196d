package primacy_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const architectureFile = "docs/architecture.md"

// TestArchitecture keeps docs/architecture.md true: the page has every package, and no import goes up in
// its picture.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile(architectureFile)
	if err != nil {
		t.Fatal(err)
	}
	report(t, checkArchitecture(string(text), load(t)))
}

func TestArchitectureSeesWhatIsPlanted(t *testing.T) {
	text := "```\ncmd/c   the program\npkg/{a,b}   two\npkg/l\n```\n| `pkg/a` | with `sub` |\n| `pkg/b` | x |\n| `pkg/l` | x |\n| `cmd/c` | x |\n"
	of := func(p string) string { return modulePath + "/" + p }
	for _, tt := range []struct{ name, from, to, want string }{
		{"down", "pkg/a", "pkg/l", ""},
		{"beside", "pkg/a", "pkg/b", ""},
		{"up", "pkg/l", "pkg/b", "pkg/l imports pkg/b"},
		{"far up", "pkg/a", "cmd/c", "pkg/a imports cmd/c"},
		{"below one that is named", "pkg/a/sub", "pkg/l", ""},
		{"missing", "pkg/a/other", "pkg/l", "pkg/a/other is not on it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := graph{of("cmd/c"): nil, of("pkg/a"): nil, of("pkg/b"): nil, of("pkg/l"): nil}
			g[of(tt.from)] = append(g[of(tt.from)], of(tt.to))
			broken := strings.Join(checkArchitecture(text, g), "\n")
			if tt.want == "" && broken != "" || !strings.Contains(broken, tt.want) {
				t.Errorf("found %q, want %q", broken, tt.want)
			}
		})
	}
}

const modulePath = "github.com/primacy-dev/primacy"

// checkArchitecture lists missing packages, and imports that go up.
func checkArchitecture(text string, g graph) (broken []string) {
	at := picture(text)
	if len(at) == 0 {
		broken = append(broken, architectureFile+": there is no picture")
	}
	for _, p := range slices.Sorted(maps.Keys(g)) {
		name, ours := strings.CutPrefix(p, modulePath+"/")
		if !ours {
			continue
		}
		if !strings.HasPrefix(name, "docs/") && !describes(text, name) {
			broken = append(broken, fmt.Sprintf("%s: %s is not on it", architectureFile, name))
		}
		line, drawn := at[name]
		if !drawn {
			continue
		}
		for _, imported := range g[p] {
			if other, drawn := at[strings.TrimPrefix(imported, modulePath+"/")]; drawn && other < line {
				broken = append(broken, fmt.Sprintf("%s: %s imports %s, which stands above it", architectureFile, name, strings.TrimPrefix(imported, modulePath+"/")))
			}
		}
	}
	for name := range at {
		if _, exists := g[modulePath+"/"+name]; !exists {
			broken = append(broken, fmt.Sprintf("%s: there is no package %s", architectureFile, name))
		}
	}
	return broken
}

var drawn = regexp.MustCompile(`^(?:(?:cmd|pkg|config|internal)(?:/[\w{},/]+)?(?:$| +))+`)

// picture maps each package to its line in the picture.
func picture(text string) map[string]int {
	_, rest, _ := strings.Cut(text, "```\n")
	block, _, _ := strings.Cut(rest, "```")
	at := map[string]int{}
	for i, line := range strings.Split(block, "\n") {
		for _, name := range strings.Fields(drawn.FindString(line)) {
			dir, several, braces := strings.Cut(name, "{")
			if !braces {
				at[name] = i
				continue
			}
			for _, base := range strings.Split(strings.TrimSuffix(several, "}"), ",") {
				at[dir+base] = i
			}
		}
	}
	return at
}

// describes says whether the table has a line for the package, or for a folder above it whose line names it.
func describes(text, name string) bool {
	if strings.Contains(text, "| `"+name+"` |") {
		return true
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		_, line, found := strings.Cut(text, "| `"+dir+"` |")
		if line, _, _ = strings.Cut(line, "\n"); found && strings.Contains(line, "`"+path.Base(name)+"`") {
			return true
		}
	}
	return false
}
