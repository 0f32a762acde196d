package mutants

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Verdict is what a named test says of a mutant.
type Verdict int

const (
	// Killed: the test failed.
	Killed Verdict = iota + 1
	// Survived: the test passed.
	Survived
	// Hung: the test did not end in time, which proves nothing.
	Hung
	// NotRun: there is no such test in the binary, or it was skipped.
	NotRun
)

func (v Verdict) String() string {
	switch v {
	case Killed:
		return "killed"
	case Survived:
		return "survived"
	case Hung:
		return "hung"
	case NotRun:
		return "not run"
	}
	return "invalid"
}

// Judge runs one test of a binary that Compile made of the package pkg below root. test is a test or
// subtest, named as the go command prints it. The string is the test's output. An error means that the
// binary could not run at all, or that what it left cannot be killed. Nothing of the run lives after it.
func Judge(ctx context.Context, binary, root, pkg, test string, patience time.Duration) (Verdict, string, error) {
	// The binary ends by itself when patience is over, and says which goroutine hung.
	c, err := judged(ctx, binary, "-test.v", "-test.count=1", "-test.timeout="+patience.String(), "-test.run="+pattern(test))
	if err != nil {
		return 0, "", err
	}
	c.Dir = filepath.Join(root, filepath.FromSlash(pkg)) // as the go command runs it
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && (!errors.As(err, &exit) || exit.ExitCode() == notStarted || exit.ExitCode() == notEnded) {
		return 0, string(out), fmt.Errorf("run %s: %w", test, errors.Join(err, ctx.Err()))
	}
	return read(test, string(out), err), string(out), nil
}

// pattern is what -test.run needs to run one test alone.
func pattern(test string) string { return "^" + strings.ReplaceAll(test, "/", "$/^") + "$" }

// read derives the verdict from what a test binary printed, and how it ended.
func read(test, out string, ended error) Verdict {
	says := func(result string) bool {
		for line := range strings.Lines(out) {
			if strings.HasPrefix(strings.TrimSpace(line), "--- "+result+": "+test+" (") {
				return true
			}
		}
		return false
	}
	begun := strings.Contains(out, "=== RUN   "+test+"\n")
	switch {
	case strings.Contains(out, "panic: test timed out after "):
		return Hung
	case !begun || says("SKIP"):
		return NotRun
	case ended != nil && (says("FAIL") || strings.Contains(out, "\npanic: ")): // after a panic elsewhere no line names the test
		return Killed
	case ended == nil && says("PASS"):
		return Survived
	}
	return NotRun
}
