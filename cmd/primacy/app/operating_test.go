package app

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestOperatingInDocs checks that the hour in docs/operating.md has the commands of testdata/operating.txt, in the same
// order.
func TestOperatingInDocs(t *testing.T) {
	commands := func(path, pattern string) (all []string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			all = append(all, found[1])
		}
		return all
	}
	said := commands(filepath.Join("..", "..", "..", "docs", "operating.md"), `(?m)^(primacy .*)$`)
	run := commands(filepath.Join("testdata", "operating.txt"), `(?m)^exec (primacy .*)$`)
	if !slices.Equal(said, run) || len(said) < 15 {
		t.Errorf("docs/operating.md has\n%q,\nand the script runs\n%q", said, run)
	}
}
