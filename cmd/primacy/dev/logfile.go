package dev

import (
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
)

// logFile is a file that a process writes to.
type logFile struct {
	path string
	// at is how many bytes news has read; rest is their end, after the last newline.
	at   int64
	rest []byte
}

// How much tail reads and returns.
const (
	tailLines = 6
	tailBytes = 8 << 10
)

// tail is the last lines; none if the file cannot be read.
func (l *logFile) tail() []string {
	info, err := os.Stat(l.path)
	if err != nil {
		return nil
	}
	text := strings.TrimSpace(string(l.read(max(0, info.Size()-tailBytes), tailBytes)))
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-tailLines):]
}

// mostNews is how much of a log is read at once.
const mostNews = 1 << 20

// news are the lines completed since the last call; none if the file cannot be read.
func (l *logFile) news() (lines []string) {
	data := l.read(l.at, mostNews)
	l.at += int64(len(data))
	l.rest = append(l.rest, data...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte{'\n'})
		if !whole {
			return lines
		}
		lines, l.rest = append(lines, string(line)), rest
	}
}

// read is up to n bytes from an offset on; none if the file cannot be read.
func (l *logFile) read(from, n int64) []byte {
	f, err := os.Open(l.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, from, n))
	if err != nil {
		return nil
	}
	return data
}

// indented shows lines below a message.
func indented(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("\n    " + view.Printable(strings.ReplaceAll(l, "\t", " ")))
	}
	return b.String()
}
