package app

import (
	"context"
	"errors"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

// clientLog is the log that client-go writes to. client-go reports an error when we cancel a
// request; clientLog lowers that to debug level.
func clientLog(log *zap.Logger) klog.Logger {
	return klog.New(calm{zapr.NewLogger(log).GetSink()})
}

type calm struct{ klog.LogSink }

func (c calm) Error(err error, message string, keysAndValues ...any) {
	if errors.Is(err, context.Canceled) {
		if c.Enabled(forDebugging) {
			c.Info(forDebugging, message, append(keysAndValues, "err", err)...)
		}
		return
	}
	c.LogSink.Error(err, message, keysAndValues...)
}

func (c calm) WithValues(keysAndValues ...any) klog.LogSink {
	return calm{c.LogSink.WithValues(keysAndValues...)}
}

func (c calm) WithName(name string) klog.LogSink { return calm{c.LogSink.WithName(name)} }

// forDebugging is zap's debug level in client-go's numbering.
const forDebugging = -int(zap.DebugLevel)
