// Command stopwatch is a runner that only records the time of its own work. It
// is a small program of its own, so that the bench measures the election and not the work.
package main

import (
	"errors"
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
	failing := flag.String("failing", "", "file that makes it fail while it names the member's revision; empty for none")
	flag.Parse()
	if err := work(*dir, *failing); err != nil {
		fmt.Fprintln(os.Stderr, "stopwatch:", err)
		os.Exit(1)
	}
}

var errFails = errors.New("fails, as it was told")

// fails says whether the file names the member's revision.
func fails(file string) bool {
	if file == "" {
		return false
	}
	named, err := os.ReadFile(file) // #nosec G304 -- whoever runs it chose it
	return err == nil && string(named) == os.Getenv("PRIMACY_MEMBER_REVISION")
}

// lookEvery is how many times work records that it goes on before it checks whether to fail.
const lookEvery = 20

// work records its time until SIGTERM, or until it must fail.
func work(dir, failing string) error {
	if fails(failing) {
		return errFails
	}
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
	for n := 1; ; n++ {
		select {
		case <-alive.C:
			if n%lookEvery == 0 && fails(failing) {
				return errors.Join(f.End(boot.Now()), errFails)
			}
			if err := f.Alive(boot.Now()); err != nil {
				return err
			}
		case <-stop:
			return f.End(boot.Now())
		}
	}
}
