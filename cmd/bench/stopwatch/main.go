// Command stopwatch is a runner that does nothing but keep the time of its own work. It
// is a program of its own, and small, so that what is measured is the election.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

func main() {
	dir := flag.String("dir", "", "folder of the workers' files")
	flag.Parse()
	if err := work(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "stopwatch:", err)
		os.Exit(1)
	}
}

// work goes on until SIGTERM.
func work(dir string) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	boot := clock.Boottime()
	f, err := span.Create(dir, os.Getenv("PRIMACY_ELECTION"), os.Getenv("PRIMACY_TOKEN"))
	if err != nil {
		return err
	}
	if err := f.Begin(boot.Now()); err != nil {
		return err
	}
	alive := time.NewTicker(span.AliveEvery)
	defer alive.Stop()
	for {
		select {
		case <-alive.C:
			if err := f.Alive(boot.Now()); err != nil {
				return err
			}
		case <-stop:
			return f.End(boot.Now())
		}
	}
}
