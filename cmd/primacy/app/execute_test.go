package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

// TestErrorThatNobodyReads checks that a process whose standard error hangs ends all the same.
func TestErrorThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		begun := time.Now()
		printError(writer, errors.New("no"))
		if took := time.Since(begun); took != logPatience {
			t.Errorf("it waited for %v", took)
		}
		said := make([]byte, 100)
		if n, err := reader.Read(said); err != nil || string(said[:n]) != "error: no\n" {
			t.Errorf("it says %q, %v", said[:n], err)
		}
	})
}

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
