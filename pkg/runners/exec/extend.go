//go:build linux

package exec

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// extensionsFD is the descriptor of the extensions: the first after the standard files.
const extensionsFD = 3

// extensions is a pipe that carries later deadlines to the program. One goroutine writes to the pipe
// until end is called.
type extensions struct {
	pipe   *os.File
	over   chan struct{}
	writer sync.WaitGroup
}

// newExtensions makes the pipe. theirs is the program's end of it.
func newExtensions() (e *extensions, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("open a pipe for its extensions: %w", err)
	}
	// A short pipe holds few outdated lines. If we cannot shorten it, the default works, too.
	if raw, err := w.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, os.Getpagesize())
		})
	}
	return &extensions{pipe: w, over: make(chan struct{})}, r, nil
}

func (e *extensions) begin(term election.Term, told record.Instant) {
	e.writer.Go(func() { e.write(term, told) })
}

func (e *extensions) end() {
	close(e.over)
	_ = e.pipe.SetWriteDeadline(time.Now())
	e.writer.Wait()
	_ = e.pipe.Close()
}

// write writes every later deadline into the pipe, a line each, until end is called. While the pipe
// is full, write waits, and then goes on with the latest deadline, without the ones in between.
// Whoever extends the term never waits for write.
//
// A line is shorter than PIPE_BUF, so it is written whole or not at all.
func (e *extensions) write(term election.Term, told record.Instant) {
	for {
		deadline, extended := term.Deadline()
		if deadline > told {
			told = deadline
			line := strconv.AppendInt(nil, int64(deadline), 10)
			if _, err := e.pipe.Write(append(line, '\n')); err != nil {
				return // the program closed its end, or is dead
			}
			continue
		}
		select {
		case <-extended:
		case <-e.over:
			return
		}
	}
}
