package config

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
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

// firstCells are the quoted words in the first column of the table whose first heading is head.
func firstCells(t *testing.T, text, head string) (cells []string) {
	t.Helper()
	_, rest, found := strings.Cut(text, "| "+head+" |")
	if !found {
		t.Fatalf("no table begins with %s", head)
	}
	rest, _, _ = strings.Cut(rest, "\n\n")
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(rest, -1) {
		for _, word := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			cells = append(cells, word[1])
		}
	}
	return cells
}

func TestReferenceHasEveryKey(t *testing.T) {
	text := reference(t)
	known := make(map[string]bool)
	schema(reflect.TypeFor[document](), "", known)
	for _, own := range []string{"name", "mode", "onExit"} { // runnerDoc decodes them itself
		known["elections[0].runners[0]."+own] = true
	}
	delete(known, "elections[0].runners[0]")

	described := make(map[string]bool)
	for _, table := range []struct{ head, prefix string }{
		{"key", ""}, {"key of `timing`", ""}, {"key of an election", "elections[0]."}, {"key of a runner", "elections[0].runners[0]."},
	} {
		for _, key := range firstCells(t, text, table.head) {
			described[table.prefix+key] = true
		}
	}
	for _, key := range firstCells(t, text, "key of `timing`") { // an election has the same keys
		described["elections[0]."+key] = true
	}
	described["elections[0].priority.chain[0]"] = described["elections[0].priority.chain"]
	described["member.proofs[0]"] = described["member.proofs"]
	for _, kind := range []string{"exec", "func", "plugin"} { // the registry of runners has these kinds, not the schema
		delete(described, "elections[0].runners[0]."+kind)
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if !described[key] {
			t.Errorf("docs/configuration.md does not describe %s", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(described)) {
		if !known[key] {
			t.Errorf("docs/configuration.md describes %s, which is no key", key)
		}
	}
}

func TestReferenceHasEveryProfile(t *testing.T) {
	text := reference(t)
	names := firstCells(t, text, "profile")
	_, err := record.Profile("")
	for _, name := range names {
		p, err := record.Profile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		row := fmt.Sprintf("| `%s` | %v | %v | %v | %v | %v | %v | %v | %v |", name,
			p.LeaseDuration, p.RenewInterval, p.StopGrace, p.NominateDelay, p.PreemptDelay, p.MinHold, p.StandDown, p.Drift)
		if !strings.Contains(text, row) {
			t.Errorf("docs/configuration.md has another row than %s", row)
		}
	}
	if all := strings.Join(names, ", "); !strings.Contains(err.Error(), "(want one of "+all+")") {
		t.Errorf("docs/configuration.md has the profiles %s; %v", all, err)
	}
}

func TestReferenceHasEveryVariable(t *testing.T) {
	text := reference(t)
	for _, s := range scalars {
		if row := fmt.Sprintf("| `%s` | `--%s` |", s.env, s.flag); !strings.Contains(text, row) {
			t.Errorf("docs/configuration.md has no row %s", row)
		}
	}
}
