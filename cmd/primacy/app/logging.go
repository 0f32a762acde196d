package app

import (
	"os"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
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
	log := zap.New(zapcore.NewCore(encoder, &impatient{to: out, encoder: encoder}, at))
	klog.SetLoggerWithOptions(clientLog(log.Named("client-go")), klog.ContextualLogger(true),
		klog.FlushLogger(func() { _ = log.Sync() })) // klog calls it before it ends the process
	return log
}
