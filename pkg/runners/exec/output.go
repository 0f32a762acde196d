package exec

import (
	"bytes"
	"errors"
	"os"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// maxLine is where a line of output is cut, in bytes.
const maxLine = 64 << 10

// output logs what comes through a pipe, line by line, until its end or deadline.
func (p *process) output(pipe *os.File, stream string) {
	log := p.log.With(zap.String("stream", stream))
	lines := lines{emit: func(line []byte, cut bool) {
		fields := []zap.Field{zap.String("line", string(line))}
		if cut {
			fields = append(fields, zap.Bool("cut", true))
		}
		log.Info("output", fields...)
	}}
	buffer := make([]byte, 32<<10)
	for {
		n, err := pipe.Read(buffer)
		lines.write(buffer[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			drain(pipe, buffer, &lines)
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
