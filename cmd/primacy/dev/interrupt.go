package dev

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// echo is how long after the first signal we ignore others: a terminal and
// make may each send one for the same Ctrl-C.
const echo = 300 * time.Millisecond

// interrupts are a person's requests to end the run: signals and keys.
type interrupts struct {
	// ctx ends with the first request.
	ctx context.Context
	// hurry is closed by the next request after echo.
	hurry <-chan struct{}
	// press reports a key that counts like a signal.
	press func()
	// close restores the signals' defaults. The caller must call it.
	close func()
}

// watchInterrupts takes SIGINT, SIGTERM and SIGHUP until it is closed.
func watchInterrupts(parent context.Context) *interrupts {
	ctx, cancel := context.WithCancel(parent)
	hurry := make(chan struct{})
	signals := make(chan os.Signal, 2)
	pressed := make(chan struct{}, 2)
	done := make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// When the reader of our output is gone, a write shall fail. Without this, SIGPIPE
	// would end us without cleaning up.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	var wg sync.WaitGroup
	wg.Go(func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case <-signals:
			case <-pressed:
			}
			switch now := time.Now(); {
			case first.IsZero():
				first = now
				cancel()
			case now.Sub(first) > echo:
				close(hurry)
				return
			}
		}
	})
	return &interrupts{
		ctx: ctx, hurry: hurry,
		press: func() {
			select {
			case pressed <- struct{}{}:
			default:
			}
		},
		close: func() {
			signal.Stop(signals)
			signal.Stop(pipes)
			close(done)
			wg.Wait()
			cancel()
		},
	}
}
