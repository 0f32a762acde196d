//go:build linux

package child

import (
	"strings"
	"testing"
	"unsafe"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

func TestWords(t *testing.T) {
	for said, want := range map[string]string{
		"plain text, 日本　語 é": "plain text, 日本　語 é", "tab\there \x1b[2J": "tab\there \x1b[2J", "csi \u009b2J": `csi \u009b2J`,
		"evil\u202egnp": `evil\u202egnp`, "del\x7f": `del\u007f`, "tag\U000e0041": `tag\U000e0041`, "no text \xff\xe9": "no text \xff\xe9",
	} {
		if got := Words(said); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

// TestWordsInTheLog checks that both ways into the log escape the program's text, and that a cut text
// does not keep the rest in memory.
func TestWordsInTheLog(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	long := strings.Repeat("x", 1<<20)
	l := NewLimited(zap.New(core), NewBudget(Rate{}, clock.Boottime()))
	l.Say(zap.InfoLevel, "says", "line", "\u009b")
	l.Say(zap.InfoLevel, "says", "line", long)
	l.Close()
	lines := newLines(zap.New(core), "stdout", NewBudget(Rate{}, clock.Boottime()))
	lines.write([]byte("\u202e\n"))
	lines.end()
	got := logs.All()
	if got[0].ContextMap()["line"] != `\u009b` || got[2].ContextMap()["line"] != `\u202e` {
		t.Errorf("logged %v", got)
	}
	if cut := got[1].ContextMap()["line"].(string); len(cut) != maxLine || unsafe.StringData(cut) == unsafe.StringData(long) {
		t.Errorf("a line of %d bytes, which may hold all", len(cut))
	}
}
