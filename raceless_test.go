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

// someRuns finds the lines of the Makefile that run named tests of folders, with the race detector or without, and skips finds what
// a line leaves out.
var (
	someRuns = regexp.MustCompile(`(?m)^\t(?:[A-Z_]+=\S+ )*go test (-race )?(?:-timeout \S+ )?-run '(\S+)'((?: \./\S+)+)$`)
	skips    = regexp.MustCompile(`(?m)^\t(?:[A-Z_]+=\S+ )*go test .*-skip '(\S+)'`)
)

// variables finds the definitions of the Makefile's variables.
var variables = regexp.MustCompile(`(?m)^([A-Z_]+) := (.*)$`)

// neverWhole are the tests that do less under the race detector, and that the Makefile runs only with it, and those that it skips and
// runs nowhere else under the race detector. They would never run as they are meant to.
func neverWhole(tree fs.FS) (broken []string, err error) {
	makefile, err := fs.ReadFile(tree, "Makefile")
	if err != nil {
		return nil, err
	}
	text, plain, raced := string(makefile), map[string][]*regexp.Regexp{}, map[string][]*regexp.Regexp{}
	for _, m := range variables.FindAllStringSubmatch(text, -1) {
		text = strings.ReplaceAll(text, "$("+m[1]+")", m[2])
	}
	pattern := func(s string) *regexp.Regexp { return regexp.MustCompile(strings.ReplaceAll(s, "$$", "$")) }
	for _, m := range someRuns.FindAllStringSubmatch(text, -1) {
		runs := plain
		if m[1] != "" {
			runs = raced
		}
		for _, folder := range strings.Fields(m[3]) {
			runs[path.Clean(folder)] = append(runs[path.Clean(folder)], pattern(m[2]))
		}
	}
	var skipped []*regexp.Regexp
	for _, m := range skips.FindAllStringSubmatch(text, -1) {
		skipped = append(skipped, pattern(m[1]))
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
			if !is || !strings.HasPrefix(test.Name.Name, "Test") {
				continue
			}
			by := func(all []*regexp.Regexp) bool {
				return slices.ContainsFunc(all, func(r *regexp.Regexp) bool { return r.MatchString(test.Name.Name) })
			}
			if mentions(test, "underRace") && !by(plain[path.Dir(name)]) {
				broken = append(broken, fmt.Sprintf("%s: %s does less under the race detector, and the Makefile never runs it without", name, test.Name.Name))
			}
			if by(skipped) && !by(raced[path.Dir(name)]) {
				broken = append(broken, fmt.Sprintf("%s: %s is skipped by the Makefile, which runs it nowhere else", name, test.Name.Name))
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
	const two = "package p\n\nfunc TestA(t *T) {\n\tif underRace {\n\t\treturn\n\t}\n}\n\nfunc TestB(t *T) {}\n"
	for makefile, want := range map[string][]string{
		"\tgo test -run '^Test(A)$$' ./p\n":                                       nil,
		"X := ^Test(A|B)$$\n\n\tgo test -run '$(X)' ./p\n":                        nil,
		"X := ^Test(B)$$\n\n\tgo test -run '$(X)' ./p\n":                          {"p/p_test.go: TestA"},
		"\tgo test -run '^Test(B)$$' ./p\n":                                       {"p/p_test.go: TestA"},
		"\tgo test -run '^Test(A)$$' ./q\n":                                       {"p/p_test.go: TestA"},
		"\tgo test -race -run '^TestA$$' ./p\n":                                   {"p/p_test.go: TestA"},
		"\tgo test -run '^TestA$$' ./q ./p\n":                                     nil,
		"\tgo test -race -skip '^TestB$$' ./...\n\tgo test -run '^TestA$$' ./p\n": {"p/p_test.go: TestB"},
		"\tgo test -race -skip '^TestB$$' ./...\n\tgo test -run '^TestA$$' ./p\n\tgo test -race -run '^TestB$$' ./p\n": nil,
		"\tN=1 go test -run '^Test(A)$$' ./p\n":                                               nil,
		"\tX=1 go test -race -skip '^TestB$$' ./...\n\tN=1 M=2 go test -run '^TestA$$' ./p\n": {"p/p_test.go: TestB"},
		"# \tgo test -run '^Test(A)$$' ./p\n":                                                 {"p/p_test.go: TestA"},
	} {
		got, err := neverWhole(fstest.MapFS{"Makefile": {Data: []byte(makefile)}, "p/p_test.go": {Data: []byte(two)}})
		if err != nil || !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("with %q: %q, %v; want %q", makefile, got, err, want)
		}
	}
}
