package sim

import (
	"fmt"
	"strings"
)

// transcript records what happened. It keeps only the last lines.
type transcript struct {
	keep  int
	lines []string
	left  int
}

func newTranscript(keep int) *transcript {
	if keep == 0 {
		return nil
	}
	return &transcript{keep: keep}
}

func (t *transcript) add(line string) {
	t.lines = append(t.lines, line)
	if t.keep > 0 && len(t.lines) >= 2*t.keep {
		cut := len(t.lines) - t.keep
		t.lines = append(t.lines[:0], t.lines[cut:]...)
		t.left += cut
	}
}

func (t *transcript) String() string {
	if t == nil {
		return ""
	}
	lines, left := t.lines, t.left
	if cut := len(lines) - t.keep; t.keep > 0 && cut > 0 {
		lines, left = lines[cut:], left+cut
	}
	var b strings.Builder
	if left > 0 {
		fmt.Fprintf(&b, "(%d earlier lines left out)\n", left)
	}
	for _, line := range lines {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func (w *world) logf(who, format string, args ...any) {
	if w.transcript != nil {
		w.transcript.add(fmt.Sprintf("%11.6f %-6s ", float64(w.now)/1e9, who) + fmt.Sprintf(format, args...))
	}
}

// tracing says whether anybody reads what logf writes; ask before doing much work for it.
func (w *world) tracing() bool { return w.transcript != nil }
