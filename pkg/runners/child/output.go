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

// maxLine is where a line of output is cut, in bytes.
const maxLine = 64 << 10

// Output is one of a program's outputs, of which every line becomes a line of the log.
// One goroutine reads it until End.
type Output struct {
	pipe   *os.File
	reader sync.WaitGroup
}

// NewOutput makes an output, and the file that becomes the program's descriptor: it is the
// caller's to close once the program has it.
func NewOutput(log *zap.Logger, stream string) (o *Output, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("open a pipe for its output: %w", err)
	}
	return Follow(r, log, stream), w, nil
}

// Follow makes an output of a pipe that is open already; it closes that at its End.
func Follow(pipe *os.File, log *zap.Logger, stream string) *Output {
	o := &Output{pipe: pipe}
	o.reader.Go(func() { read(pipe, log.With(zap.String("stream", stream))) })
	return o
}

// Lines makes lines of the log of what is written to it. It is one goroutine's at a time.
func Lines(log *zap.Logger, stream string) io.WriteCloser {
	return newLines(log.With(zap.String("stream", stream)))
}

// End takes what is in the pipe and goes; somebody may still hold its other end.
func (o *Output) End() {
	_ = o.pipe.SetReadDeadline(time.Now())
	o.reader.Wait()
	_ = o.pipe.Close()
}

// read logs what comes through a pipe, line by line, until its end or deadline.
func read(pipe *os.File, log *zap.Logger) {
	lines := newLines(log)
	buffer := make([]byte, 32<<10)
	for {
		n, err := pipe.Read(buffer)
		lines.write(buffer[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			drain(pipe, buffer, lines)
		}
		if err != nil {
			break
		}
	}
	lines.end()
}

// drain takes what is left in a pipe whose writers may go on for ever, but no more than
// a pipe usually holds.
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

// lines cuts a stream into lines of at most maxLine bytes; what is longer is dropped.
type lines struct {
	emit func(line []byte, cut bool)

	held []byte
	cut  bool
}

func newLines(log *zap.Logger) *lines {
	return &lines{emit: func(line []byte, cut bool) {
		fields := []zap.Field{zap.String("line", string(line))}
		if cut {
			fields = append(fields, zap.Bool("cut", true))
		}
		log.Info("output", fields...)
	}}
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

// end emits a last line that no newline ended.
func (l *lines) end() {
	if len(l.held) > 0 {
		l.flush()
	}
}

func (l *lines) flush() {
	l.emit(bytes.TrimSuffix(l.held, []byte{'\r'}), l.cut)
	l.held, l.cut = l.held[:0], false
}
