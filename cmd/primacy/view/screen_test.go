package view

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/primacy-dev/primacy/cmd/primacy/view/viewtest"
)

// stage is a terminal that a test operates.
type stage struct {
	show   Show
	title  string // written by the screen's goroutine only
	keys   *os.File
	seen   *bufio.Reader
	output *os.File
	pages  chan string
}

func newStage(t *testing.T) *stage {
	in, keys := viewtest.Pipe(t)
	out, output := viewtest.Pipe(t)
	s := &stage{title: "first", keys: keys, seen: bufio.NewReader(out), output: output, pages: make(chan string, 16)}
	s.show = Show{
		In: in, Out: output, Name: "a test", Press: func(key string) { s.pages <- key },
		Page: func(int, int) Page { return Page{Title: s.title} },
	}
	return s
}

var size = tea.WithWindowSize(80, 24)

const leaveAlternateScreen = "\x1b[?1049l"

// TestScreen checks that a screen draws its pages, passes keys on, and restores the terminal.
func TestScreen(t *testing.T) {
	st := newStage(t)
	s := Open(context.Background(), st.show, size)
	viewtest.Until(t, st.seen, "first")
	if _, err := io.WriteString(st.keys, "k"); err != nil {
		t.Fatal(err)
	}
	if got := <-st.pages; got != "k" {
		t.Errorf("key %q", got)
	}
	s.Do(func() { st.title = "second" })
	viewtest.Until(t, st.seen, "second")
	s.Close()
	if err := <-s.Ended(); err != nil {
		t.Error(err)
	}
	if err := st.output.Close(); err != nil {
		t.Fatal(err)
	}
	viewtest.Until(t, st.seen, leaveAlternateScreen)
	var none *Screen
	none.Do(func() { t.Error("nobody shows this") })
	if none.Ended() != nil {
		t.Error("what was never shown ends")
	}
}

// TestDuring checks that, if the work or the screen ends, the other ends too.
func TestDuring(t *testing.T) {
	errWork := errors.New("work failed")
	st := newStage(t)
	st.show.In = nil
	err := During(context.Background(), st.show, func(_ context.Context, s *Screen) error {
		s.Do(func() { st.title = "at work" })
		viewtest.Until(t, st.seen, "at work")
		return errWork
	}, size)
	if !errors.Is(err, errWork) {
		t.Errorf("work that fails: %v", err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	st = newStage(t)
	err = During(ctx, st.show, func(ctx context.Context, _ *Screen) error {
		viewtest.Until(t, st.seen, "first")
		cancel()
		<-ctx.Done()
		return nil
	}, size)
	if err != nil {
		t.Errorf("a context that ends: %v", err)
	}

	st = newStage(t)
	err = During(context.Background(), st.show, func(ctx context.Context, s *Screen) error {
		s.program.Quit()
		<-ctx.Done()
		return nil
	}, size)
	if err != nil {
		t.Errorf("a screen that ends by itself: %v", err)
	}
}
