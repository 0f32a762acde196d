package dev

import (
	"io"
	"strings"
	"testing"
	"time"
)

// TestVerdict checks that a run with a limited time ends with an error that says what was wrong.
func TestVerdict(t *testing.T) {
	var out strings.Builder
	r := &run{
		Options: Options{For: 20 * time.Second}, console: &console{out: &out}, board: newBoard("edge", nil),
		doc:  open(t, head+"member: {revision: stable}\n"),
		crew: &crew{members: []*member{{name: "stable-0"}, {name: "canary-0", crashed: 2}}},
	}
	r.board.wrong = []string{"one: token 15 came after token 20"}
	err := r.verdict([]string{"one: nobody leads, the lock is released"})
	want := "not all was well after 20s:\n  one: nobody leads, the lock is released\n  one: token 15 came after token 20\n  member canary-0 ended by itself, 2 times"
	if err == nil || err.Error() != want {
		t.Errorf("verdict: %v", err)
	}
	r.board.wrong, r.crew.members[1].crashed, r.board.moves = nil, 0, 1
	if err := r.verdict(nil); err != nil || !strings.HasSuffix(out.String(), " all was well: 1 election led, 1 transition, none missed\n") {
		t.Errorf("verdict: %v\n%s", err, &out)
	}
}

// TestBrokenOutput checks that the run ends when the reader of its output is gone.
func TestBrokenOutput(t *testing.T) {
	reader, writer := io.Pipe()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	r := &run{console: &console{out: writer}, board: newBoard("edge", nil)}
	r.event("something")
	if done, err := r.settle(start0); !done || err == nil {
		t.Errorf("it goes on: %v", err)
	}
}
