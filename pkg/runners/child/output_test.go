//go:build linux

package child

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestOutputIsDrainedAtTheDeadline checks that data written before the read deadline is read after
// it, although a writer remains.
func TestOutputIsDrainedAtTheDeadline(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.WriteString("one\ntwo"); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.InfoLevel)
	read(r, newLines(zap.New(core), "stdout", NewBudget(Rate{}, clock.Boottime())))
	var got []string
	for _, e := range logs.All() {
		got = append(got, e.ContextMap()["line"].(string))
	}
	if !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("logged %q", got)
	}
}

func TestLinesAreCut(t *testing.T) {
	type line struct {
		text string
		cut  bool
	}
	long := strings.Repeat("x", maxLine)
	for _, chunk := range []int{1 << 10, maxLine - 1, maxLine, 1 << 20} {
		core, logs := observer.New(zap.InfoLevel)
		l := newLines(zap.New(core), "stdout", NewBudget(Rate{}, clock.Boottime()))
		text := []byte(long + "\n" + long + "y\n" + "\n" + "z\r\n" + "end")
		for part := range slices.Chunk(text, chunk) {
			l.write(part)
		}
		l.end()
		var got []line
		for _, e := range logs.All() {
			fields := e.ContextMap()
			_, cut := fields["cut"]
			got = append(got, line{fields["line"].(string), cut})
		}
		want := []line{{long, false}, {long, true}, {"", false}, {"z", false}, {"end", false}}
		if !slices.Equal(got, want) {
			t.Errorf("chunks of %d: %d lines are wrong", chunk, len(got))
		}
	}
}
