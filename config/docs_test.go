package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// reference is the page that describes the file.
func reference(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReferenceHasEveryVariable(t *testing.T) {
	text := reference(t)
	for _, s := range scalars {
		if s.env == "" {
			continue // docs/commands.md has the flag
		}
		if row := fmt.Sprintf("| `%s` | `--%s` |", s.env, s.flag); !strings.Contains(text, row) {
			t.Errorf("docs/configuration.md has no row %s", row)
		}
	}
}
