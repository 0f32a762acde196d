package primacy_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write what is exported now into testdata/exported.txt")

const exportedFile = "testdata/exported.txt"

// TestExported compares all exported names with a stored list, so that a review sees the list grow.
func TestExported(t *testing.T) {
	now, err := exported(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(now, "\n") + "\n"
	if *update {
		if err := os.WriteFile(exportedFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(exportedFile)
	if err != nil {
		t.Fatal(err)
	}
	before := strings.Split(strings.TrimSpace(string(kept)), "\n")
	for _, name := range now {
		if !slices.Contains(before, name) {
			t.Errorf("%s is exported and not in %s (go test -update . writes it)", name, exportedFile)
		}
	}
	for _, name := range before {
		if !slices.Contains(now, name) {
			t.Errorf("%s is in %s and not exported (go test -update . writes it)", name, exportedFile)
		}
	}
}

// exported are the names that config and pkg export, without internal packages and other modules.
func exported(tree fs.FS) (names []string, err error) {
	for _, root := range []string{"config", "pkg"} {
		err := fs.WalkDir(tree, root, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "internal" || d.Name() == "testdata" || isModule(tree, name)):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
			if err != nil {
				return err
			}
			if f.Name.Name != "main" {
				for _, e := range exportedBy(f) {
					names = append(names, path.Dir(name)+" "+e)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func isModule(tree fs.FS, dir string) bool {
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil
}

// exportedBy are the names that a file exports; methods and fields with their type before them.
func exportedBy(f *ast.File) (names []string) {
	add := func(within string, id *ast.Ident) {
		if id.IsExported() {
			names = append(names, within+id.Name)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add("", d.Name)
			} else if of := receiver(d.Recv.List[0].Type); ast.IsExported(of) {
				add(of+".", d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add("", id)
					}
				case *ast.TypeSpec:
					add("", s.Name)
					if s.Name.IsExported() {
						for _, id := range members(s.Type) {
							add(s.Name.Name+".", id)
						}
					}
				}
			}
		}
	}
	return names
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return fmt.Sprintf("%T", e)
}

// members are the named fields of a struct, or the methods of an interface.
func members(e ast.Expr) (names []*ast.Ident) {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		names = append(names, f.Names...)
	}
	return names
}

func TestExportedSeesWhatIsPlanted(t *testing.T) {
	text := "package p\n\ntype T struct{ F, g int }\n\ntype I interface{ M() }\n\ntype t struct{ F int }\n\nfunc (T) M() {}\n\nfunc (t) N() {}\n\nfunc Fn() {}\n\nconst C = 1\n"
	tree := fstest.MapFS{
		"config/p.go":         {Data: []byte("package config\n\nvar V, w int\n")},
		"pkg/p/p.go":          {Data: []byte(text)},
		"pkg/p/p_test.go":     {Data: []byte("package p\n\nvar Tested int\n")},
		"pkg/p/internal/i.go": {Data: []byte("package internal\n\nvar Hidden int\n")},
		"pkg/p/cmd/main.go":   {Data: []byte("package main\n\nvar Own int\n")},
		"pkg/m/go.mod":        {Data: []byte("module m\n")},
		"pkg/m/m.go":          {Data: []byte("package m\n\nvar Else int\n")},
	}
	names, err := exported(tree)
	want := "config V, pkg/p C, pkg/p Fn, pkg/p I, pkg/p I.M, pkg/p T, pkg/p T.F, pkg/p T.M"
	if got := strings.Join(names, ", "); err != nil || got != want {
		t.Errorf("%v\n%s, want\n%s", err, got, want)
	}
}
