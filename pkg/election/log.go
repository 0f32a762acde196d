package election

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Logr makes a Config.Log that writes to l, such as the logger of controller-runtime or klog. Debug messages have
// verbosity 1, all others 0; warnings have the value level=warning, for logr has no level for them.
func Logr(l logr.Logger) *zap.Logger { return zap.New(&core{sink: toLogr{l}}) }

// Slog makes a Config.Log that writes to l.
func Slog(l *slog.Logger) *zap.Logger { return zap.New(&core{sink: toSlog{l.Handler()}}) }

// sink is another logger. Values are keys and values in turn.
type sink interface {
	enabled(zapcore.Level) bool
	write(e zapcore.Entry, err error, values []any)
}

// core is a zap core that writes to a sink.
type core struct {
	sink sink
	with []zapcore.Field
}

// Enabled implements zapcore.Core.
func (c *core) Enabled(l zapcore.Level) bool { return c.sink.enabled(l) }

// With implements zapcore.Core.
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{c.sink, append(c.with[:len(c.with):len(c.with)], fields...)}
}

// Check implements zapcore.Core.
func (c *core) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return to.AddCore(e, c)
	}
	return to
}

// Write implements zapcore.Core.
func (c *core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	var failed error
	var values []any
	add := func(fields []zapcore.Field) {
		for _, f := range fields {
			if err, is := f.Interface.(error); is && f.Type == zapcore.ErrorType && f.Key == "error" {
				failed = err
				continue
			}
			of := zapcore.NewMapObjectEncoder()
			f.AddTo(of)
			if v, found := of.Fields[f.Key]; found {
				values = append(values, f.Key, v)
			}
		}
	}
	add(c.with)
	add(fields)
	c.sink.write(e, failed, values)
	return nil
}

// Sync implements zapcore.Core.
func (c *core) Sync() error { return nil }

type toLogr struct{ to logr.Logger }

func (l toLogr) at(level zapcore.Level) logr.Logger {
	if level < zapcore.InfoLevel {
		return l.to.V(1)
	}
	return l.to
}

func (l toLogr) enabled(level zapcore.Level) bool {
	return level >= zapcore.ErrorLevel || l.at(level).Enabled()
}

func (l toLogr) write(e zapcore.Entry, err error, values []any) {
	if e.Level >= zapcore.ErrorLevel {
		l.to.Error(err, e.Message, values...)
		return
	}
	if e.Level == zapcore.WarnLevel {
		values = append(values, "level", "warning")
	}
	if err != nil {
		values = append(values, "error", err.Error())
	}
	l.at(e.Level).Info(e.Message, values...)
}

type toSlog struct{ to slog.Handler }

func slogLevel(level zapcore.Level) slog.Level {
	switch {
	case level < zapcore.InfoLevel:
		return slog.LevelDebug
	case level == zapcore.InfoLevel:
		return slog.LevelInfo
	case level == zapcore.WarnLevel:
		return slog.LevelWarn
	}
	return slog.LevelError
}

func (l toSlog) enabled(level zapcore.Level) bool {
	return l.to.Enabled(context.Background(), slogLevel(level))
}

func (l toSlog) write(e zapcore.Entry, err error, values []any) {
	r := slog.NewRecord(e.Time, slogLevel(e.Level), e.Message, 0)
	r.Add(values...)
	if err != nil {
		r.Add("error", err)
	}
	_ = l.to.Handle(context.Background(), r) // a log that fails has nowhere to say so
}
