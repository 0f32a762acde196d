//go:build linux

package exec

import (
	"bufio"
	"os"
	"strconv"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestExtensionsAreWholeAndTheLatestArrives(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e := &extensions{pipe: w, over: make(chan struct{})}
	term, extend := election.NewTerm(election.Term{}, 1)
	e.begin(term, 1)

	// Nobody reads yet, and a pipe does not hold so many lines.
	const last = 50_000
	for i := record.Instant(2); i <= last; i++ {
		extend(i * 1_000_000_000)
	}
	var got record.Instant
	for lines := bufio.NewScanner(r); got != last*1_000_000_000 && lines.Scan(); {
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil || n%1_000_000_000 != 0 || record.Instant(n) <= got {
			t.Fatalf("line %q after %d", lines.Text(), got)
		}
		got = record.Instant(n)
	}
	if got != last*1_000_000_000 {
		t.Errorf("the last line says %d", got)
	}
	e.end()
}

func TestExtensionsSurviveAReaderThatIsGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	e := &extensions{pipe: w, over: make(chan struct{})}
	term, extend := election.NewTerm(election.Term{}, 1)
	extend(2)
	e.write(term, 1) // returns by itself
	w.Close()
}
