package app

import (
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// impatient is a log that waits for no reader. If a line is not taken within logPatience, impatient drops further lines until it is, and
// then says how many are missing. So a log that hangs keeps no program from being started again, and no process from ending. The caller
// serializes calls.
type impatient struct {
	to zapcore.WriteSyncer
	// encoder makes the line that says how many were dropped.
	encoder zapcore.Encoder
	// hangs gets the result of a write that was not taken in time; nil if there is none.
	hangs   <-chan error
	dropped int
	// late: the last line was not taken in time. Then the next one has little time, or a slow log would take all of ours.
	late bool
}

// logPatience is how long we wait until a line is taken, lateLogPatience after one that was late.
const (
	logPatience     = time.Second
	lateLogPatience = 10 * time.Millisecond
)

func (w *impatient) Write(line []byte) (int, error) {
	if w.hangs != nil {
		select {
		case <-w.hangs:
			w.hangs = nil
		default:
			w.dropped++
			return len(line), nil
		}
	}
	text, wrote := w.withDropped(line), make(chan error, 1)
	go func() { // ends once the line is taken, at the latest with this process
		_, err := w.to.Write(text)
		wrote <- err
	}()
	patience := logPatience
	if w.late {
		patience = lateLogPatience
	}
	timer := clock.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-wrote:
		w.late = false
		return len(line), err
	case <-timer.C:
		w.hangs, w.late = wrote, true
		return len(line), nil
	}
}

// withDropped returns a copy of the line, after one that says how many were dropped, if any were.
func (w *impatient) withDropped(line []byte) []byte {
	if w.dropped == 0 {
		return slices.Clone(line)
	}
	said, err := w.encoder.EncodeEntry(
		zapcore.Entry{Level: zapcore.WarnLevel, Time: clock.Boottime().Wall(), Message: "nobody took the log for a while; lines are missing here"},
		[]zapcore.Field{zap.Int("lines", w.dropped)})
	if err != nil {
		return slices.Clone(line)
	}
	defer said.Free()
	w.dropped = 0
	return append(slices.Clone(said.Bytes()), line...)
}

// Sync does nothing: lines are written at once.
func (*impatient) Sync() error { return nil }
