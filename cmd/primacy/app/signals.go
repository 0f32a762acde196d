package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// echo is how long after the first signal we ignore others: a terminal,
// make or timeout(1) may send one signal both to the process and to its group.
const echo = time.Second

// lastWord is how long a process that ends at once may take to log that.
const lastWord = 100 * time.Millisecond

// outliveReaders has this process go on when nobody reads its standard output or error any more: a member must not die
// with the reader of its log. The signal is caught, not ignored: a program inherits ignored signals.
func outliveReaders() {
	if !signal.Ignored(syscall.SIGPIPE) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}
}

// untilSignal is a context that ends with the first SIGTERM or SIGINT; another one after echo ends
// the process at once. The caller must call stop, which restores the signals' defaults.
func untilSignal(parent context.Context, log *zap.Logger) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				switch {
				case first.IsZero():
					first = time.Now()
					cancel()
					log.Info("stopping: runners stop, then locks are released; another signal ends it at once", zap.Stringer("signal", s))
				case time.Since(first) >= echo:
					status := 128 + int(s.(syscall.Signal))
					// Whatever hangs may hang the log too: exit in any case.
					clock.AfterFunc(lastWord, func() { os.Exit(status) })
					log.Warn("ending at once, without releasing anything", zap.Stringer("signal", s))
					_ = log.Sync() // the process ends either way
					os.Exit(status)
				}
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		wg.Wait()
		cancel()
	}
}
