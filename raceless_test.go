package primacy_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// plainRuns finds the lines of the Makefile that run tests of one folder without the race detector.
var plainRuns = regexp.MustCompile(`(?m)^\t(?:[A-Z_]+=\S+ )?go test (?:-timeout \S+ )?-run '(\S+)' \./(\S+)$`)

// variables finds the definitions of the Makefile's variables.
var variables = regexp.MustCompile(`(?m)^([A-Z_]+) := (.*)$`)

// neverWhole are the tests that do less under the race detector, and that the Makefile runs only with it. They would never
// run as they are meant to.
func neverWhole(tree fs.FS) (broken []string, err error) {
	makefile, err := fs.ReadFile(tree, "Makefile")
	if err != nil {
		return nil, err
	}
	text, runs := string(makefile), map[string]*regexp.Regexp{}
	for _, m := range variables.FindAllStringSubmatch(text, -1) {
		text = strings.ReplaceAll(text, "$("+m[1]+")", m[2])
	}
	for _, m := range plainRuns.FindAllStringSubmatch(text, -1) {
		runs[m[2]] = regexp.MustCompile(strings.ReplaceAll(m[1], "$$", "$"))
	}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin"):
			return fs.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parse(tree, name)
		if err != nil {
			return err
		}
		for _, decl := range f.ast.Decls {
			test, is := decl.(*ast.FuncDecl)
			if !is || !strings.HasPrefix(test.Name.Name, "Test") || !mentions(test, "underRace") {
				continue
			}
			if run := runs[path.Dir(name)]; run == nil || !run.MatchString(test.Name.Name) {
				broken = append(broken, fmt.Sprintf("%s: %s does less under the race detector, and the Makefile never runs it without", name, test.Name.Name))
			}
		}
		return nil
	})
	return broken, err
}

func mentions(in ast.Node, name string) (found bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		id, is := n.(*ast.Ident)
		found = found || is && id.Name == name
		return !found
	})
	return found
}

// TestNothingIsLeftToTheRaceDetector checks that the Makefile also runs without it what does less under it.
func TestNothingIsLeftToTheRaceDetector(t *testing.T) {
	broken, err := neverWhole(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	report(t, broken)
	const skips = "package p\n\nfunc TestA(t *T) {\n\tif underRace {\n\t\treturn\n\t}\n}\n\nfunc TestB(t *T) {}\n"
	for makefile, want := range map[string][]string{
		"\tgo test -run '^Test(A)$$' ./p\n":                nil,
		"X := ^Test(A|B)$$\n\n\tgo test -run '$(X)' ./p\n": nil,
		"X := ^Test(B)$$\n\n\tgo test -run '$(X)' ./p\n":   {"p/p_test.go: TestA"},
		"\tgo test -run '^Test(B)$$' ./p\n":                {"p/p_test.go: TestA"},
		"\tgo test -run '^Test(A)$$' ./q\n":                {"p/p_test.go: TestA"},
		"\tgo test -race -run '^TestA$$' ./p\n":            {"p/p_test.go: TestA"},
		"\tN=1 go test -run '^Test(A)$$' ./p\n":            nil,
		"# \tgo test -run '^Test(A)$$' ./p\n":              {"p/p_test.go: TestA"},
	} {
		got, err := neverWhole(fstest.MapFS{"Makefile": {Data: []byte(makefile)}, "p/p_test.go": {Data: []byte(skips)}})
		if err != nil || !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("with %q: %q, %v; want %q", makefile, got, err, want)
		}
	}
}
