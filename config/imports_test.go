package config_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/primacy-dev/primacy/"

// forbidden lists which folder must not import packages with which prefix, and why.
var forbidden = []struct{ folder, prefix, reason string }{
	{".", module + "pkg/runners", "a new kind of runner must not touch the configuration"},
	{".", module + "pkg/revisions", "a new source of revisions must not touch the configuration"},
	{".", module + "pkg/election/lock", "a new kind of lock must not touch the configuration"},
	{".", "k8s.io/", "a document is checked without a cluster"},
	{".", "go.uber.org/zap", "mistakes are returned, not logged"},
}

func TestImports(t *testing.T) {
	for _, rule := range forbidden {
		files, err := filepath.Glob(filepath.Join(rule.folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(rule.folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range parsed.Imports {
				if path, _ := strconv.Unquote(i.Path.Value); strings.HasPrefix(path, rule.prefix) {
					t.Errorf("%s imports %s: %s", file, path, rule.reason)
				}
			}
		}
	}
}
