package machine

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the machine does now into testdata/*.txt")

// TestInteraction plays the transcripts in testdata: one member, one lock, and whatever
// befalls them. What the machine does stands below each command, indented by two
// spaces; commands_test.go says which commands there are.
//
// After a change that is meant to be seen, run with -update and read the difference.
func TestInteraction(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(string(want))
			if bytes.Contains(got, []byte("\n  ! ")) {
				t.Errorf("something panicked:\n%s", got)
			}
			switch {
			case bytes.Equal(got, want):
			case *update:
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("the machine does something else (regenerate with -update):\n%s", difference(string(want), string(got)))
			}
		})
	}
}

// play runs a transcript and returns it with the output that belongs to it.
func play(script string) []byte {
	var out bytes.Buffer
	e := newEnvironment(&out)
	for _, line := range strings.Split(strings.TrimSuffix(script, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "  "):
			continue // former output
		case line == "" || strings.HasPrefix(line, "#"):
			fmt.Fprintln(&out, line)
		default:
			fmt.Fprintln(&out, line)
			e.try(line)
		}
	}
	return out.Bytes()
}

// try runs a line. If it panics, the output shows the panic after an exclamation mark and the test fails:
// the script or the machine is wrong.
func (e *environment) try(line string) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(e.out, "  ! %v\n", p)
		}
	}()
	e.run(line)
}

// difference shows the first lines that differ, and where.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; i < len(w) || i < len(g); i++ {
		if i < len(w) && i < len(g) && w[i] == g[i] {
			continue
		}
		from := max(0, i-6)
		return fmt.Sprintf("line %d\n--- want\n%s\n--- got\n%s", i+1,
			strings.Join(w[min(from, len(w)):min(i+6, len(w))], "\n"),
			strings.Join(g[min(from, len(g)):min(i+6, len(g))], "\n"))
	}
	return "nothing differs"
}
