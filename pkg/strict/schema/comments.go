package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"strings"
)

// Source is Go source with the declarations of types: embedded files, without tests.
type Source []fs.FS

// comments are the comments of the fields of structs, such as "exec.block.Dir".
type comments map[string]string

// comments reads all comments. Source that is embedded in the program has been compiled, so an
// error would be one in the program: it panics.
func (source Source) comments() comments {
	all := comments{}
	for _, tree := range source {
		files, err := fs.Glob(tree, "*.go")
		if err != nil {
			panic(err)
		}
		for _, name := range files {
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				panic(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path.Base(name), text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				panic(err)
			}
			maps.Copy(all, commentsIn(file))
		}
	}
	return all
}

func commentsIn(file *ast.File) comments {
	found := comments{}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if s, ok := t.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						found[file.Name.Name+"."+t.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
					}
				}
			}
		}
	}
	return found
}
