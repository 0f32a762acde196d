package dev

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseCommand(t *testing.T) {
	for line, want := range map[string]command{
		"":               {},
		"  ":             {},
		"r":              {switchRevision, ""},
		"r canary":       {switchRevision, "canary"},
		" k  stable-0 ":  {killMember, "stable-0"},
		"s":              {stopMember, ""},
		"q":              {quit, ""},
		"k stable-0 now": {killMember, "stable-0 now"},
	} {
		if got, err := parseCommand(line); err != nil || got != want {
			t.Errorf("%q: %v, %v", line, got, err)
		}
	}
	if _, err := parseCommand("\x1b[2Jx"); err == nil || !strings.Contains(err.Error(), `"\x1b[2Jx" is nothing to do: r [REVISION]`) {
		t.Errorf("error %v", err)
	}
}

func TestLogFile(t *testing.T) {
	l := logFile{path: filepath.Join(t.TempDir(), "log")}
	if l.tail() != nil || l.news() != nil {
		t.Error("a missing file has lines")
	}
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	news := func(want ...string) {
		t.Helper()
		if got := l.news(); !slices.Equal(got, want) {
			t.Errorf("news %q, want %q", got, want)
		}
	}
	write("")
	if l.tail() != nil {
		t.Error("an empty file has lines")
	}
	write("a\nb")
	news("a")
	news()
	write("c\n\nd\n")
	news("bc", "", "d")
	write(strings.Repeat("x\n", 100) + "y\nlast\n")
	if got := l.tail(); len(got) != tailLines || got[tailLines-1] != "last" || got[tailLines-2] != "y" {
		t.Errorf("tail %q", got)
	}
	if got := indented([]string{"a", "\x1b[m"}); got != "\n    a\n    \\x1b[m" {
		t.Errorf("indented %q", got)
	}
}
