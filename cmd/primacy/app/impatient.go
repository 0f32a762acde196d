package app

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// impatient is a log that nobody waits for: Write only queues a line, and one goroutine writes the lines in their order. If the queue
// is full, impatient drops lines until nothing is queued any more, and then says how many are missing. So a log that is slow or hangs holds up no
// election, no program and no process that ends. Any goroutine may use it.
type impatient struct {
	to zapcore.WriteSyncer
	// encoder makes the line that says how many were dropped.
	encoder zapcore.Encoder

	mu sync.Mutex
	// queue has the lines that were not begun yet, and size is how many bytes they have.
	queue [][]byte
	size  int
	// dropped is how many lines are missing after those of the queue.
	dropped int
	// idle is closed when nothing is left to write; nil if nothing is.
	idle chan struct{}
}

const (
	// mostLines and mostBytes bound the queue. A line for each of ten thousand elections, which all begin at once, fits in. The last line
	// may exceed mostBytes.
	mostLines = 1 << 15
	mostBytes = 8 << 20
	// logPatience is how long a process that ends waits for its log.
	logPatience = time.Second
)

// Write queues the line, or drops it.
func (w *impatient) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dropped > 0 || len(w.queue) >= mostLines || w.size >= mostBytes {
		w.dropped++
		return len(line), nil
	}
	w.queue = append(w.queue, slices.Clone(line)) // the caller uses its memory again
	w.size += len(line)
	if w.idle == nil {
		w.idle = make(chan struct{})
		go w.write() // ends when nothing is left to write, at the latest with this process
	}
	return len(line), nil
}

// write writes what is queued, until nothing is left. A log that fails has nowhere to say so.
func (w *impatient) write() {
	for {
		line, dropped, more := w.next()
		switch {
		case !more:
			return
		case dropped > 0:
			w.confess(dropped)
		default:
			_, _ = w.to.Write(line)
		}
	}
}

// next returns the next line, or how many lines are missing at this place.
func (w *impatient) next() (line []byte, dropped int, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(w.queue) > 0:
		line, w.queue[0] = w.queue[0], nil
		w.queue = w.queue[1:]
		w.size -= len(line)
		return line, 0, true
	case w.dropped > 0:
		dropped, w.dropped = w.dropped, 0
		return nil, dropped, true
	}
	w.queue = nil // give the memory back
	close(w.idle)
	w.idle = nil
	return nil, 0, false
}

// confess writes that lines are missing.
func (w *impatient) confess(dropped int) {
	said, err := w.encoder.EncodeEntry(
		zapcore.Entry{Level: zapcore.WarnLevel, Time: clock.Boottime().Wall(), Message: "nobody took the log for a while; lines are missing here"},
		[]zapcore.Field{zap.Int("lines", dropped)})
	if err != nil {
		return
	}
	defer said.Free()
	_, _ = w.to.Write(said.Bytes())
}

// Sync waits until everything is written, but for no longer than logPatience.
func (w *impatient) Sync() error {
	w.mu.Lock()
	idle := w.idle
	w.mu.Unlock()
	if idle == nil {
		return nil
	}
	timer := clock.NewTimer(logPatience)
	defer timer.Stop()
	select {
	case <-idle:
		return nil
	case <-timer.C:
		return fmt.Errorf("the log has not taken everything within %v", logPatience)
	}
}
