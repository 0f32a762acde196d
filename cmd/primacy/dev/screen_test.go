package dev

import (
	"bufio"
	"context"
	"io"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/primacy-dev/primacy/cmd/primacy/view/viewtest"
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
		press(text("r")) // nobody takes the commands, and press does not block
	}
}

// TestScreen checks that the screen draws its snapshot, turns keys into commands, and restores the terminal.
func TestScreen(t *testing.T) {
	keys, typed := viewtest.Pipe(t)
	drawn, output := viewtest.Pipe(t)
	commands := make(chan command, 1)
	s := openScreen(context.Background(), Options{Stdin: keys, Stdout: output}, shown(t), commands, tea.WithWindowSize(100, 30))
	screen := bufio.NewReader(drawn)
	viewtest.Until(t, screen, "default revision")
	if _, err := io.WriteString(typed, "k"); err != nil {
		t.Fatal(err)
	}
	if got := <-commands; got != (command{killMember, "stable-0"}) {
		t.Errorf("command %v", got)
	}
	next := shown(t)
	next.preferred = "another"
	s.show(next)
	viewtest.Until(t, screen, "another")
	s.Close()
	if err := <-s.ended(); err != nil {
		t.Error(err)
	}
	const leaveAlternateScreen = "\x1b[?1049l"
	if err := output.Close(); err != nil {
		t.Fatal(err)
	}
	viewtest.Until(t, screen, leaveAlternateScreen)
}
