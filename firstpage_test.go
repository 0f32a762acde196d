package primacy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFirstPage checks that README and the doc show the example of package election, which the compiler
// checks, and that the example stays short.
func TestFirstPage(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	body := regexp.MustCompile(`(?s)\nfunc Example\(\) \{\n(.*?)\n\}\n`).FindStringSubmatch(read("pkg/election/example_test.go"))
	if body == nil {
		t.Fatal("there is no example")
	}
	example := strings.ReplaceAll("\n"+body[1], "\n\t", "\n") + "\n"
	if n := strings.Count(example, "\n") - 1; n > 10 {
		t.Errorf("the example has %d lines, want at most 10", n)
	}
	if !strings.Contains(read("README.md"), "```go"+example+"```") {
		t.Error("README.md shows another example")
	}
	if doc := strings.ReplaceAll(example, "\n", "\n//\t"); !strings.Contains(read("pkg/election/doc.go"), strings.TrimSuffix(doc, "\t")) {
		t.Error("pkg/election/doc.go shows another example")
	}
}
