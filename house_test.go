// Package primacy_test checks the rules of the house: which package may import which, and how
// files must be. Each rule also gets a planted violation, to show that it can
// fail.
package primacy_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// maxLines is the most lines of a hand-written file.
const maxLines = 500

// maxSize is the most bytes of any other file.
const maxSize = 256 << 10

// file is a Go file of the repository.
type file struct {
	path  string
	lines int
	ast   *ast.File
	// besideBubbles: some tests of the same folder run in testing/synctest bubbles.
	besideBubbles bool
}

// mayBeInABubble says whether tests in bubbles may run this file: tests of its own folder,
// or of packages that import it. Other modules have no bubbles. Package clock is exempt: it implements the timers.
func (f file) mayBeInABubble() bool {
	dir := path.Dir(f.path)
	if dir == "pkg/election/clock" && !f.isTest() {
		return false
	}
	imported := (strings.HasPrefix(dir, "pkg/") || strings.HasPrefix(dir, "config") || strings.HasPrefix(dir, "cmd/primacy")) &&
		!strings.HasPrefix(dir, "pkg/runners/plugin")
	return f.besideBubbles || imported && !f.isTest()
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// fileRules each return what is wrong with one file; empty if nothing is.
var fileRules = []func(f file) string{
	func(f file) string {
		if f.lines > maxLines && !ast.IsGenerated(f.ast) { // nobody reads generated files
			return fmt.Sprintf("has %d lines: a file holds one idea", f.lines)
		}
		return ""
	},
	func(f file) string {
		if name := strings.TrimSuffix(f.ast.Name.Name, "_test"); name == "util" || name == "utils" {
			return "is in a package " + name + ": a package is named for what it provides"
		}
		return ""
	},
	func(f file) string {
		if f.isTest() && f.uses("time", "Sleep") && !f.imports("testing/synctest") {
			return "sleeps outside a testing/synctest bubble: await the event, so that the test is neither slow nor lucky"
		}
		return ""
	},
	func(f file) string {
		if !f.mayBeInABubble() {
			return ""
		}
		for _, name := range []string{"NewTimer", "NewTicker", "After", "Tick", "AfterFunc"} {
			if f.uses("time", name) {
				return "uses time." + name + ": in a testing/synctest bubble it can kill the race detector; take NewTimer, AfterFunc or Wait of pkg/election/clock"
			}
		}
		return ""
	},
	func(f file) string {
		if !stepped[path.Dir(f.path)] || f.isTest() {
			return ""
		}
		for _, name := range []string{"Now", "Since", "Until", "Sleep"} {
			if f.uses("time", name) {
				return "uses time." + name + ": it is stepped, and told the time"
			}
		}
		if what := f.runsBeside(); what != "" {
			return "has " + what + ": it is stepped, and does nothing beside that"
		}
		return ""
	},
	func(f file) string {
		if f.isTest() || ast.IsGenerated(f.ast) {
			return ""
		}
		if name := f.switched(); name != "" {
			return "has a boolean parameter in " + name + ": its callers read true or false, and not what that means"
		}
		return ""
	},
	func(f file) string {
		if f.uses("context", "TODO") {
			return "has a context.TODO: who can stop this?"
		}
		return ""
	},
	func(f file) string {
		if made := f.unbounded(); made != "" && strings.HasPrefix(f.path, "cmd/primacy/") && !f.isTest() {
			return "makes a client by " + made + ": a program that gives out credentials may hang it (apiserver.ClientFor)"
		}
		return ""
	},
}

// unbounded names a function of client-go with which the file makes a client whose requests may outlast their contexts;
// empty for none.
func (f file) unbounded() (made string) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, is := n.(*ast.SelectorExpr); is && sel.Sel.Name == "NewForConfig" {
			made = sel.Sel.Name
		}
		return true
	})
	for _, function := range []string{"HTTPClientFor", "RESTClientFor", "UnversionedRESTClientFor"} {
		if f.uses("k8s.io/client-go/rest", function) {
			made = function
		}
	}
	return made
}

// stepped are the folders of deterministic packages, which always do the same with the same inputs.
var stepped = map[string]bool{"pkg/election/internal/machine": true, "pkg/election/internal/session": true, "pkg/election/internal/member": true}

// runsBeside names the means of concurrency that a file uses; empty for none.
func (f file) runsBeside() (what string) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.GoStmt:
			what = "a go statement"
		case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
			what = "a channel"
		}
		return what == ""
	})
	return what
}

// switched names a function that has a boolean parameter together with other parameters; empty for none. A
// function with boolean parameters only is allowed: it computes with truth values.
func (f file) switched() string {
	for _, d := range f.ast.Decls {
		fn, is := d.(*ast.FuncDecl)
		if !is {
			continue
		}
		booleans := 0
		for _, p := range fn.Type.Params.List {
			if id, is := p.Type.(*ast.Ident); is && id.Name == "bool" {
				booleans++
			}
		}
		if booleans > 0 && booleans < len(fn.Type.Params.List) {
			return fn.Name.Name
		}
	}
	return ""
}

var replaceLine = regexp.MustCompile(`(?m)^[ \t]*replace\b`)

func TestFiles(t *testing.T) { report(t, checkTree(os.DirFS("."))) }

// checkTree lists what breaks the rules of the house.
func checkTree(tree fs.FS) (broken []string) {
	mod, err := fs.ReadFile(tree, "go.mod")
	switch {
	case err != nil:
		broken = append(broken, err.Error())
	case replaceLine.Match(mod):
		broken = append(broken, "go.mod: replaces a module: whoever imports this one would build something else")
	}
	documented := map[string]bool{} // folders with packages
	bubbles := map[string]bool{}    // folders with tests in bubbles
	var files []file
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			if info, err := d.Info(); err == nil && info.Size() > maxSize && !strings.HasPrefix(name, "bin/") {
				broken = append(broken, fmt.Sprintf("%s: has %d bytes: what is built goes to bin, and is not kept", name, info.Size()))
			}
			return nil
		}
		f, err := parse(tree, name)
		if err != nil {
			return err
		}
		files = append(files, f)
		if dir := path.Dir(name); f.isTest() {
			bubbles[dir] = bubbles[dir] || f.imports("testing/synctest")
		} else {
			documented[dir] = documented[dir] || f.ast.Doc != nil
		}
		return nil
	})
	if err != nil {
		broken = append(broken, err.Error())
	}
	for _, f := range files {
		f.besideBubbles = bubbles[path.Dir(f.path)]
		for _, rule := range fileRules {
			if problem := rule(f); problem != "" {
				broken = append(broken, f.path+": "+problem)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(documented)) {
		if !documented[dir] {
			broken = append(broken, dir+": the package has no doc: what is its one job?")
		}
	}
	return broken
}

func parse(tree fs.FS, name string) (file, error) {
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		return file{}, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
	return file{path: name, lines: bytes.Count(src, []byte("\n")), ast: parsed}, err
}

func (f file) imports(importPath string) bool { return f.localName(importPath) != "" }

// localName is the name under which the file imports the package; empty if it does not import it.
func (f file) localName(importPath string) string {
	for _, spec := range f.ast.Imports {
		switch p, err := strconv.Unquote(spec.Path.Value); {
		case err != nil || p != importPath:
		case spec.Name != nil:
			return spec.Name.Name
		default:
			return path.Base(p)
		}
	}
	return ""
}

// uses says whether the file mentions the package's function, in a call or otherwise.
func (f file) uses(importPath, function string) bool {
	local := f.localName(importPath)
	found := false
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == function {
			x, ok := sel.X.(*ast.Ident)
			found = found || ok && x.Name == local
		}
		return !found
	})
	return found
}

// TestFilesBite plants one violation of each rule, and checks that the rule reports it.
func TestFilesBite(t *testing.T) {
	const doc = "// Package p is planted.\npackage p\n"
	for _, tt := range []struct {
		name, path, content string
		want                string // empty when nothing is wrong
	}{
		{"nothing wrong", "p/p.go", doc, ""},
		{"replace", "go.mod", "module x\n\nreplace a => ../a\n", "replaces a module"},
		{"replace in a block", "go.mod", "module x\n\nreplace (\n\ta => ../a\n)\n", "replaces a module"},
		{"replaced in a comment", "go.mod", "module x // replace nothing\n", ""},
		{"no doc", "q/q.go", "package q\n", "q: the package has no doc"},
		{"only tests need no doc", "q/q_test.go", "package q\n", ""},
		{"long", "p/long.go", doc + strings.Repeat("\n", maxLines), "has 502 lines"},
		{"long, but generated", "p/long.go", "// Code generated by a test. DO NOT EDIT.\n\n" + doc + strings.Repeat("\n", maxLines), ""},
		{"util", "util/u.go", "// Package util is.\npackage util\n", "package util"},
		{"utils in a test", "p/u_test.go", "package utils_test\n", "package utils"},
		{"sleep", "p/s_test.go", "package p\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n", "sleeps"},
		{"sleep by another name", "p/s_test.go", "package p\n\nimport clock \"time\"\n\nvar f = clock.Sleep\n", "sleeps"},
		{"sleep in a bubble", "p/s_test.go", "package p\n\nimport (\n\t\"testing/synctest\"\n\t\"time\"\n)\n\nfunc f() { time.Sleep(1); synctest.Wait() }\n", ""},
		{"sleep elsewhere", "p/s.go", doc + "\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n", ""},
		{"timer of a package", "pkg/p/p.go", doc + "\nimport \"time\"\n\nvar t = time.AfterFunc(0, nil)\n", "uses time.AfterFunc"},
		{"ticker by another name", "pkg/p/p.go", doc + "\nimport t \"time\"\n\nvar f = t.NewTicker\n", "uses time.NewTicker"},
		{"timer of a test in a bubble", "p/p_test.go", "package p\n\nimport (\n\t_ \"testing/synctest\"\n\t\"time\"\n)\n\nvar c = time.After(1)\n", "uses time.After:"},
		{"timer of a test", "pkg/p/p_test.go", "package p\n\nimport \"time\"\n\nvar c = time.After(1)\n", ""},
		{"timer of a command", "cmd/primacy/p/p.go", doc + "\nimport \"time\"\n\nvar c = time.Tick(1)\n", "uses time.Tick"},
		{"timer of the configuration", "config/p.go", doc + "\nimport \"time\"\n\nvar c = time.NewTimer(1)\n", "uses time.NewTimer"},
		{"timer of another command", "cmd/p/p.go", doc + "\nimport \"time\"\n\nvar c = time.Tick(1)\n", ""},
		{"timer of the clock", "pkg/election/clock/p.go", doc + "\nimport \"time\"\n\nvar t = time.NewTimer(1)\n", ""},
		{"time where one is stepped", "pkg/election/internal/member/p.go", doc + "\nimport \"time\"\n\nvar t = time.Now\n", "uses time.Now"},
		{"goroutine where one is stepped", "pkg/election/internal/machine/p.go", doc + "\nfunc f() { go f() }\n", "has a go statement"},
		{"channel where one is stepped", "pkg/election/internal/session/p.go", doc + "\nvar c chan int\n", "has a channel"},
		{"goroutine of its tests", "pkg/election/internal/machine/p_test.go", "package p\n\nfunc f() { go f() }\n", ""},
		{"switch", "p/b.go", doc + "\nfunc f(n int, loud bool) {}\n", "has a boolean parameter in f"},
		{"switch of a method", "p/b.go", doc + "\ntype t int\n\nfunc (t) m(loud, long bool, n int) {}\n", "has a boolean parameter in m"},
		{"truth values", "p/b.go", doc + "\nfunc f(a, b bool) int { return 0 }\n", ""},
		{"switch in a test", "p/b_test.go", "package p\n\nfunc f(n int, loud bool) {}\n", ""},
		{"todo", "p/c.go", doc + "\nimport \"context\"\n\nvar c = context.TODO()\n", "context.TODO"},
		{"client", "cmd/primacy/p/c.go", doc + "\nimport core \"k8s.io/client-go/core\"\n\nvar c, _ = core.NewForConfig(nil)\n", "makes a client by NewForConfig"},
		{"transport", "cmd/primacy/p/c.go", doc + "\nimport \"k8s.io/client-go/rest\"\n\nvar c, _ = rest.HTTPClientFor(nil)\n", "makes a client by HTTPClientFor"},
		{"data of tests", "p/testdata/util.go", "package util\n", ""},
		{"a program", "cmd/p/p", strings.Repeat("x", maxSize+1), "has 262145 bytes"},
		{"a program in bin", "bin/p", strings.Repeat("x", maxSize+1), ""},
		{"not a Go file", "p/broken.go", "pakage", "expected 'package'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := fstest.MapFS{"go.mod": {Data: []byte("module x\n")}}
			tree[tt.path] = &fstest.MapFile{Data: []byte(tt.content)}
			broken := strings.Join(checkTree(tree), "\n")
			if tt.want == "" && broken != "" {
				t.Errorf("nothing planted, yet: %s", broken)
			}
			if !strings.Contains(broken, tt.want) {
				t.Errorf("found %q, want %q", broken, tt.want)
			}
		})
	}
}

func report(t *testing.T, broken []string) {
	t.Helper()
	for _, b := range broken {
		t.Error(b)
	}
}
