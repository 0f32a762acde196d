package app

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"testing"
)

// TestExitStatuses checks that docs/commands.md has each exit status once.
func TestExitStatuses(t *testing.T) {
	text, err := os.ReadFile("../../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([\d+ n]+) \| .`).FindAllStringSubmatch(string(text), -1) {
		if seen[row[1]] {
			t.Errorf("%s stands there twice", row[1])
		}
		seen[row[1]] = true
	}
	for _, status := range []int{0, exitFailed, exitUsage, exitTimeout, exitNever, exitRefused, 70} {
		if !seen[fmt.Sprint(status)] {
			t.Errorf("status %d is missing", status)
		}
		delete(seen, fmt.Sprint(status))
	}
	if delete(seen, "128 + n"); len(seen) > 0 {
		t.Errorf("nothing has the statuses %v", seen)
	}
	if err := error(&exitError{exitNever, errors.New("no")}); err.Error() != "no" || errors.Unwrap(err) == nil {
		t.Error(err)
	}
}
