package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// follows delivers a state after each change until ctx ends. When its watch breaks off, it delivers
// the reason.
type follows[T any] func(ctx context.Context, deliver func(T, error)) error

// watchCut is the note that a watch broke off, so that the state shown may be old for a moment.
func watchCut(trouble error) string {
	return "the watch was cut, and is taken up again: " + view.Printable(trouble.Error())
}

// inTurn shows one state after the other, until ctx ends or the output is closed.
func inTurn[T any](ctx context.Context, notes io.Writer, follow follows[T], show func(T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	said := map[string]record.Instant{}
	err := follow(ctx, func(state T, trouble error) {
		switch {
		case failed != nil:
		case trouble != nil:
			sayAgain(notes, watchCut(trouble), said)
		default:
			if failed = show(state); failed != nil {
				cancel()
			}
		}
	})
	return errors.Join(err, failed)
}

// repeatAfter is how long a note about the same trouble is not repeated: each attempt fails the same way.
const repeatAfter = time.Minute

// sayAgain writes a note, unless it was written a moment ago; said has when.
func sayAgain(notes io.Writer, note string, said map[string]record.Instant) {
	now := clock.Boottime().Now()
	if last, is := said[note]; is && now.Sub(last) < repeatAfter {
		return
	}
	said[note] = now
	fmt.Fprintln(notes, note)
}

// live makes the pages of a screen: the present state, and what happened since the screen
// opened. It belongs to the screen's goroutine until that goroutine has ended.
type live[T any] struct {
	// since describes what is new in a state; page is the state's page, with the log at its end.
	since func(T) []string
	page  func(state T, log []string) view.Page

	state T
	seen  bool
	log   view.Log
}

func (l *live[T]) take(state T, trouble error, now time.Time) {
	if trouble != nil {
		l.log.Add(now, watchCut(trouble))
		return
	}
	l.state, l.seen = state, true
	l.log.Add(now, l.since(state)...)
}

func (l *live[T]) draw() view.Page {
	if !l.seen {
		return view.Page{Title: "the API server is asked"}
	}
	return l.page(l.state, l.log.Lines())
}

// onScreen shows the present state on a terminal, until ctx or a key ends it.
func (l *live[T]) onScreen(ctx context.Context, out io.Writer, name string, follow follows[T]) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return view.During(ctx, view.Show{
		In: keyboard(), Out: out, Name: name, Press: endingKeys(cancel),
		Page: func(int, int) view.Page { return l.draw() },
	}, func(ctx context.Context, screen *view.Screen) error {
		return follow(ctx, func(state T, trouble error) {
			screen.Do(func() { l.take(state, trouble, time.Now()) })
		})
	})
}

// keyboard is standard input if that is a terminal, else nil.
func keyboard() io.Reader {
	if term.IsTerminal(int(os.Stdin.Fd())) {
		return os.Stdin
	}
	return nil
}

// endingKeys are the keys that end a live view.
func endingKeys(end func()) func(key string) {
	return func(key string) {
		if key == "q" || key == "ctrl+c" {
			end()
		}
	}
}
