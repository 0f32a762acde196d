package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExplainInDocs checks that docs/explain.md shows what people read.
func TestExplainInDocs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "explain.md"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(filepath.Join("testdata", "explain", "min-hold.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```text\n"+string(example)+"```\n") {
		t.Error("docs/explain.md lacks the text of testdata/explain/min-hold.txt")
	}
	_, table, found := strings.Cut(string(page), "| situation | what it says | what you can do |\n| --- | --- | --- |\n")
	if !found {
		t.Fatal("docs/explain.md has no table of situations")
	}
	rows := map[string]string{}
	for line := range strings.Lines(table) {
		name, rest, is := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !is {
			break // the end of the table
		}
		rows[name] = rest
	}
	for _, tt := range situations {
		s := usual()
		tt.change(s)
		row, documented := rows[tt.name]
		if e := s.explain(t); documented && !strings.HasPrefix(row, e.Summary+" | ") {
			t.Errorf("docs/explain.md says something else of %s: want %s", tt.name, e.Summary)
		}
		delete(rows, tt.name)
	}
	for name := range rows {
		t.Errorf("docs/explain.md has situation %s, which is not tested", name)
	}
}
