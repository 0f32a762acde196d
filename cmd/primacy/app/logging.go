package app

import (
	"os"
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// encodeDuration writes about three digits, for people.
func encodeDuration(d time.Duration, to zapcore.PrimitiveArrayEncoder) {
	to.AppendString(round(d).String())
}

// round drops the digits of a duration that people would skip.
func round(d time.Duration) time.Duration {
	switch size := d.Abs(); {
	case size >= time.Minute:
		return d.Round(time.Second)
	case size >= time.Second:
		return d.Round(10 * time.Millisecond)
	case size >= time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

// newLogger logs to standard error, and makes client-go do so too. level and format are
// words that config.LoadProcess has checked.
func newLogger(level, format string) *zap.Logger { return newLoggerTo(os.Stderr, level, format) }

func newLoggerTo(out zapcore.WriteSyncer, level, format string) *zap.Logger {
	at := zap.NewAtomicLevel()
	if err := at.UnmarshalText([]byte(level)); err != nil {
		panic(err)
	}
	how := zap.NewProductionEncoderConfig()
	how.TimeKey, how.EncodeTime = "time", zapcore.RFC3339NanoTimeEncoder
	how.EncodeDuration = encodeDuration
	encoder := zapcore.NewJSONEncoder(how)
	if format == "console" {
		how.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		how.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(how)
	}
	log := zap.New(zapcore.NewCore(encoder, zapcore.Lock(&impatient{to: out, encoder: encoder}), at))
	klog.SetLoggerWithOptions(clientLog(log.Named("client-go")), klog.ContextualLogger(true))
	return log
}

// impatient drops lines while nobody takes them, and says later how many those were: a log that hangs must not keep a program from
// being started again, or a process from ending. Whoever uses it locks it.
type impatient struct {
	to zapcore.WriteSyncer
	// encoder makes the line that says how many were dropped.
	encoder zapcore.Encoder
	// hangs gets the result of the write that was not taken within logPatience; nil for none.
	hangs   <-chan error
	dropped int
}

// logPatience is how long a line may take.
const logPatience = time.Second

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
	text, err := w.sayDropped(line)
	if err != nil {
		return 0, err
	}
	wrote := make(chan error, 1)
	go func() { // ends once the line is taken, at the latest with this process
		_, err := w.to.Write(text)
		wrote <- err
	}()
	late := clock.NewTimer(logPatience)
	defer late.Stop()
	select {
	case err := <-wrote:
		return len(line), err
	case <-late.C:
		w.hangs = wrote
		return len(line), nil
	}
}

// sayDropped returns a copy of the line. If lines were dropped before it, one that says so comes first.
func (w *impatient) sayDropped(line []byte) ([]byte, error) {
	if w.dropped == 0 {
		return slices.Clone(line), nil
	}
	said, err := w.encoder.EncodeEntry(
		zapcore.Entry{Level: zapcore.WarnLevel, Time: clock.Boottime().Wall(), Message: "the log was not taken; lines are missing here"},
		[]zapcore.Field{zap.Int("lines", w.dropped)})
	if err != nil {
		return nil, err
	}
	defer said.Free()
	w.dropped = 0
	return append(slices.Clone(said.Bytes()), line...), nil
}

// Sync does nothing: lines are written at once.
func (*impatient) Sync() error { return nil }
