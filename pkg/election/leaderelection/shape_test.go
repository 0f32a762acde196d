package leaderelection_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryNameOfClientGoIsHere checks that a program compiles whichever name of client-go's package it uses: functions, types, methods
// and fields.
func TestEveryNameOfClientGoIsHere(t *testing.T) {
	here := map[string]bool{}
	for _, name := range exported(t, ".") {
		here[name] = true
	}
	theirs := exported(t, filepath.Join(moduleDir(t, "k8s.io/client-go"), "tools/leaderelection"))
	if len(theirs) < 30 {
		t.Fatalf("client-go's package has only the names %q", theirs)
	}
	for _, name := range theirs {
		if !here[name] {
			t.Errorf("client-go's package has %s, this one does not", name)
		}
	}
}

// exported lists what the package in a folder exports.
func exported(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	add := func(of string, name *ast.Ident) {
		if name.IsExported() {
			names = append(names, of+name.Name)
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if of, is := receiver(d); is {
					add(of, d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						for _, name := range s.Names {
							add("", name)
						}
					case *ast.TypeSpec:
						add("", s.Name)
						for _, f := range parts(s) {
							for _, name := range f.Names {
								add(s.Name.Name+".", name)
							}
						}
					}
				}
			}
		}
	}
	return names
}

// receiver is the exported type of a method, with a dot; empty for a function.
func receiver(d *ast.FuncDecl) (of string, exported bool) {
	if d.Recv == nil {
		return "", true
	}
	x := d.Recv.List[0].Type
	if p, is := x.(*ast.StarExpr); is {
		x = p.X
	}
	name, is := x.(*ast.Ident)
	if !is || !name.IsExported() {
		return "", false
	}
	return name.Name + ".", true
}

// parts are the fields of a struct, or the methods of an interface.
func parts(s *ast.TypeSpec) []*ast.Field {
	if !s.Name.IsExported() {
		return nil
	}
	switch x := s.Type.(type) {
	case *ast.StructType:
		return x.Fields.List
	case *ast.InterfaceType:
		return x.Methods.List
	}
	return nil
}
