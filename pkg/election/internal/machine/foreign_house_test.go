package machine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestForeignIsAsked checks that what is known of foreign electors stays in foreign.go, and in foreign_release.go, which judges their
// releases. The rest of the machine calls methods, so that nobody has to read foreign.go to understand another file.
func TestForeignIsAsked(t *testing.T) {
	fields := []string{"suspects", "claimed", "heard", "claimsLost", "robbed", "outrankedSince"}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if field, ok := n.(*ast.SelectorExpr); ok && slices.Contains(fields, field.Sel.Name) && ofForeign(field.X) {
				if at[file]++; file != "foreign.go" && file != "foreign_release.go" {
					t.Errorf("%s: %s of a foreign is used outside of foreign.go", set.Position(n.Pos()), field.Sel.Name)
				}
			}
			return true
		})
	}
	if at["foreign.go"] < 10 {
		t.Errorf("found only %d uses in foreign.go: this test sees nothing", at["foreign.go"])
	}
}

// ofForeign says whether the expression is State.foreign, or the step's copy of it.
func ofForeign(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name == "foreign"
	case *ast.CallExpr:
		called, ok := e.Fun.(*ast.SelectorExpr)
		return ok && called.Sel.Name == "foreigners"
	}
	return false
}
