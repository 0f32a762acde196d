package dev

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
)

// How much of the end of a log is shown.
const (
	tailLines = 6
	tailBytes = 8 << 10
)

// tail is the last lines of a file; none when it cannot be read.
func tail(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tailBytes), tailBytes))
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines[max(0, len(lines)-tailLines):]
}

// indented shows lines below a message.
func indented(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("\n    " + printable(l))
	}
	return b.String()
}

// follower reads what was added to a file since it last did.
type follower struct {
	path string
	at   int64
	rest []byte // a line that has no end yet
}

// lines are those that were completed since the last call.
func (t *follower) lines() ([]string, error) {
	f, err := os.Open(t.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, t.at, 1<<20))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	t.at += int64(len(data))
	t.rest = append(t.rest, data...)
	var lines []string
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte{'\n'})
		if !whole {
			return lines, nil
		}
		lines, t.rest = append(lines, string(line)), rest
	}
}
