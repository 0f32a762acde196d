package dev

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestKeys(t *testing.T) {
	commands := make(chan command, 16)
	s := &screen{snapshot: shown(t), commands: commands}
	press := func(keys ...tea.Key) {
		for _, k := range keys {
			s.press(tea.KeyPressMsg(k).String())
		}
	}
	text := func(s string) tea.Key { return tea.Key{Text: s, Code: rune(s[0])} }
	up, down := tea.Key{Code: tea.KeyUp}, tea.Key{Code: tea.KeyDown}
	press(up, text("k"), down, text("s"), down, down, down, text("k"), text("r"), text("x"), text("q"), tea.Key{Code: 'c', Mod: tea.ModCtrl})
	want := []command{{killMember, "stable-0"}, {stopMember, "stable-1"}, {killMember, "canary-0"}, {switchRevision, ""}, {quit, ""}, {quit, ""}}
	for i, w := range want {
		if got := <-commands; got != w {
			t.Errorf("command %d: %v, want %v", i, got, w)
		}
	}
	for range 100 {
		press(text("r")) // nobody takes them, and nothing waits
	}
}

// The screen draws what it is shown, turns keys into commands, and gives the terminal back.
func TestScreen(t *testing.T) {
	keys, typed := pipe(t)
	drawn, output := pipe(t)
	commands := make(chan command, 1)
	s := openScreen(context.Background(), Options{Stdin: keys, Stdout: output}, shown(t), commands, tea.WithWindowSize(100, 30))
	screen := bufio.NewReader(drawn)
	until(t, screen, "default revision")
	if _, err := io.WriteString(typed, "k"); err != nil {
		t.Fatal(err)
	}
	if got := <-commands; got != (command{killMember, "stable-0"}) {
		t.Errorf("command %v", got)
	}
	next := shown(t)
	next.preferred = "another"
	s.show(next)
	until(t, screen, "another")
	s.Close()
	if err := <-s.ended(); err != nil {
		t.Error(err)
	}
	const leaveAlternateScreen = "\x1b[?1049l"
	if err := output.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, screen, leaveAlternateScreen)
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close()
		_ = w.Close() // it may be closed already
	})
	return r, w
}

// until reads until the text has come.
func until(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	var seen strings.Builder
	for !strings.HasSuffix(seen.String(), want) {
		b, err := r.ReadByte()
		if err != nil {
			t.Fatalf("%v after %q, waiting for %q", err, seen.String(), want)
		}
		seen.WriteByte(b)
	}
}
