//go:build linux

package child

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// maxLine is the most bytes of a line that are logged.
const maxLine = 64 << 10

// Output turns each line of one of a program's outputs into a line of the log, as far as the rate
// allows. One goroutine reads the output until End, and also reads lines that it drops: a program
// never waits for the log.
type Output struct {
	pipe   *os.File
	reader sync.WaitGroup
}

// NewOutput makes an output, and the file that becomes the program's descriptor. The caller closes
// that file once the program has it.
func NewOutput(log *zap.Logger, stream string, budget *Budget) (o *Output, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("open a pipe for its output: %w", err)
	}
	return Follow(r, log, stream, budget), w, nil
}

// Follow makes an output of an open pipe; End closes the pipe.
func Follow(pipe *os.File, log *zap.Logger, stream string, budget *Budget) *Output {
	o := &Output{pipe: pipe}
	o.reader.Go(func() { read(pipe, newLines(log, stream, budget)) })
	return o
}

// Lines returns a writer that logs, line by line, as an Output does. Only one goroutine may use it at
// a time.
func Lines(log *zap.Logger, stream string, budget *Budget) io.WriteCloser {
	return newLines(log, stream, budget)
}

// End reads what is left in the pipe and closes it. Others may still hold the pipe's other end. It waits for the log as
// Limited.Close does; end several outputs at once.
func (o *Output) End() {
	_ = o.pipe.SetReadDeadline(time.Now())
	o.reader.Wait()
	_ = o.pipe.Close()
}

// read logs a pipe's lines until its end or deadline.
func read(pipe *os.File, to *lines) {
	defer to.end()
	buffer := make([]byte, 64<<10) // what a pipe usually holds
	for {
		n, err := pipe.Read(buffer)
		to.write(buffer[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			drain(pipe, buffer, to)
		}
		if err != nil {
			return
		}
	}
}

// drain reads what is left in a pipe. It reads no more than a pipe usually holds, since writers may
// go on for ever.
func drain(pipe *os.File, buffer []byte, to *lines) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		for taken := 0; taken < 64<<10; {
			n, err := unix.Read(int(fd), buffer)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil || n == 0 {
				return
			}
			to.write(buffer[:n])
			taken += n
		}
	})
}

// lines cuts a stream into lines, and drops what exceeds maxLine bytes in a line.
type lines struct {
	to   *Limited
	held []byte
	cut  bool
}

func newLines(log *zap.Logger, stream string, budget *Budget) *lines {
	return &lines{to: NewLimited(log.With(zap.String("stream", stream)), budget)}
}

func (l *lines) Write(data []byte) (int, error) {
	l.write(data)
	return len(data), nil
}

func (l *lines) Close() error {
	l.end()
	return nil
}

func (l *lines) write(data []byte) {
	if l.to.full() {
		data = l.skip(data)
	}
	for len(data) > 0 {
		part, rest, whole := bytes.Cut(data, []byte{'\n'})
		room := min(len(part), maxLine-len(l.held))
		l.held = append(l.held, part[:room]...)
		l.cut = l.cut || room < len(part)
		if whole {
			l.flush()
		}
		data = rest
	}
}

// skip drops the whole lines of the data at once, which is faster than one by one, and returns the
// rest.
func (l *lines) skip(data []byte) []byte {
	end := bytes.LastIndexByte(data, '\n') + 1
	if end == 0 {
		return data
	}
	n := bytes.Count(data[:end], []byte{'\n'})
	l.to.drop(n, len(l.held)+end-n)
	l.held, l.cut = l.held[:0], false
	return data[end:]
}

// end logs a last line without a newline, and all queued messages.
func (l *lines) end() {
	if len(l.held) > 0 {
		l.flush()
	}
	l.to.Close()
}

func (l *lines) flush() {
	line := bytes.TrimSuffix(l.held, []byte{'\r'})
	e := entry{level: zap.InfoLevel, message: "output", cut: l.cut}
	l.to.say(e, "line", len(line), func() string { return escaped(string(line)) })
	l.held, l.cut = l.held[:0], false
}

// AtOnce calls all ends, and waits for them: each may wait for a slow log.
func AtOnce(ends ...func()) {
	var all sync.WaitGroup
	for _, end := range ends {
		all.Go(end)
	}
	all.Wait()
}
