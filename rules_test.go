package primacy_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	rulesFile  = "pkg/election/internal/machine/RULES.md"
	rulesTable = "pkg/election/internal/machine/design.md"
)

var (
	ruleHead = regexp.MustCompile(`(?m)^## ([a-z-]+)$`)
	// ruleCited matches the names after "rule" or "rules"; a rule's name has at least two words.
	ruleCited  = regexp.MustCompile(`\b[Rr]ules? ((?:[a-z]+-[a-z-]*[a-z])(?:(?:, | and )[a-z]+-[a-z-]*[a-z])*)`)
	ruleName   = regexp.MustCompile(`[a-z]+-[a-z-]*[a-z]`)
	ruleNumber = regexp.MustCompile(`\b[Rr]ules? [0-9]`)
	// ruleRow matches a row of the table of broken rules.
	ruleRow = regexp.MustCompile(`(?m)^\| ([a-z-]+(?:, [a-z-]+)?): `)
)

func TestRulesAreCitedByName(t *testing.T) { report(t, checkRules(os.DirFS("."))) }

// checkRules lists cited names of rules that do not exist, and rules without a row in the table of
// broken rules.
func checkRules(tree fs.FS) (broken []string) {
	rules, err := fs.ReadFile(tree, rulesFile)
	if err != nil {
		return []string{err.Error()}
	}
	known := map[string]bool{}
	for _, m := range ruleHead.FindAllStringSubmatch(string(rules), -1) {
		known[m[1]] = true
	}
	kept := map[string]bool{}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if ext := path.Ext(name); ext != ".go" && ext != ".md" && ext != ".txt" || name == "rules_test.go" {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if m := ruleNumber.Find(text); m != nil {
			broken = append(broken, fmt.Sprintf("%s: %q: rules are cited by the names of %s", name, m, rulesFile))
		}
		for _, m := range ruleCited.FindAllStringSubmatch(string(text), -1) {
			for _, cited := range ruleName.FindAllString(m[1], -1) {
				if !known[cited] {
					broken = append(broken, fmt.Sprintf("%s: there is no rule %s in %s", name, cited, rulesFile))
				}
			}
		}
		if name == rulesTable {
			for _, m := range ruleRow.FindAllStringSubmatch(string(text), -1) {
				for _, of := range strings.Split(m[1], ", ") {
					kept[of] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		broken = append(broken, err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if !known[name] {
			broken = append(broken, fmt.Sprintf("%s: there is no rule %s in %s", rulesTable, name, rulesFile))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !kept[name] {
			broken = append(broken, fmt.Sprintf("%s: nobody has broken the rule %s to see what finds it: it has no row in %s", rulesFile, name, rulesTable))
		}
	}
	return broken
}

// TestRulesAreCitedByNameBites plants one violation of each kind, and checks that checkRules reports it.
func TestRulesAreCitedByNameBites(t *testing.T) {
	for _, tt := range []struct{ name, path, content, want string }{
		{"nothing wrong", "p.go", "// As by rule two-words, and rules two-words and two-words.", ""},
		{"no rule of ours", "p.go", "// a rule of thumb, and a rule as such", ""},
		{"a number", "p.go", "// see rule " + "12", "are cited by the names"},
		{"no such rule", "p.md", "(rule tow-words)", "there is no rule tow-words"},
		{"the second one", "p.txt", "rules two-words, tow-words", "there is no rule tow-words"},
		{"nobody broke it", rulesTable, "| rule | broken: |\n", "nobody has broken the rule two-words"},
		{"a row of none", rulesTable, "| two-words: a | b |\n| tow-words: a | b |\n", "there is no rule tow-words"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := fstest.MapFS{
				rulesFile:  {Data: []byte("# Rules\n\n## two-words\n\nA rule.\n")},
				rulesTable: {Data: []byte("| two-words: it | is broken |\n")},
			}
			tree[tt.path] = &fstest.MapFile{Data: []byte(tt.content)}
			broken := strings.Join(checkRules(tree), "\n")
			if tt.want == "" && broken != "" {
				t.Errorf("nothing planted, yet: %s", broken)
			}
			if !strings.Contains(broken, tt.want) {
				t.Errorf("found %q, want %q", broken, tt.want)
			}
		})
	}
}
