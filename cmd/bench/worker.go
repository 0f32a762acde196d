package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// aliveEvery is how often a worker writes down that it works; what a killed worker did
// after its last line is not known closer than that.
const aliveEvery = 2 * time.Millisecond

// work is a runner that does nothing but keep the time of its own work: when it began,
// when it was last at work, and when it ended, each as 8 bytes in its file.
func work(args []string) error {
	flags := flag.NewFlagSet("bench worker", flag.ContinueOnError)
	dir := flags.String("dir", "", "folder of the workers' files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	boot := clock.Boottime()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	name := fmt.Sprintf("%s@%s@%d", os.Getenv("PRIMACY_ELECTION"), os.Getenv("PRIMACY_TOKEN"), os.Getpid())
	f, err := os.OpenFile(filepath.Join(*dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("worker's file: %w", err)
	}
	defer f.Close() //nolint:errcheck // every write was checked
	put := func(field int64) error {
		_, err := f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(boot.Now())), 8*field)
		return err
	}
	if err := errors.Join(put(0), put(1)); err != nil {
		return fmt.Errorf("worker's file: %w", err)
	}
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		select {
		case <-alive.C:
			if err := put(1); err != nil {
				return fmt.Errorf("worker's file: %w", err)
			}
		case <-stop:
			return errors.Join(put(1), put(2))
		}
	}
}

// span is one worker's work, by its own clock.
type span struct {
	election    string
	token       uint64
	pid         int
	begin, till record.Instant
	// ended: it stopped by itself; till is exact, else no closer than aliveEvery.
	ended bool
}

// readSpans reads what all workers wrote so far.
func readSpans(dir string) ([]span, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("workers' files: %w", err)
	}
	var spans []span
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("worker's file: %w", err)
		}
		if len(data) < 16 {
			continue // it has only just begun
		}
		parts := strings.Split(f.Name(), "@")
		if len(parts) != 3 {
			return nil, fmt.Errorf("worker's file %q has a strange name", f.Name())
		}
		s := span{election: parts[0]}
		var errToken, errPID error
		s.token, errToken = strconv.ParseUint(parts[1], 10, 64)
		s.pid, errPID = strconv.Atoi(parts[2])
		if err := errors.Join(errToken, errPID); err != nil {
			return nil, fmt.Errorf("worker's file %q: %w", f.Name(), err)
		}
		s.begin = record.Instant(binary.LittleEndian.Uint64(data))
		s.till = record.Instant(binary.LittleEndian.Uint64(data[8:]))
		if len(data) >= 24 {
			s.till, s.ended = record.Instant(binary.LittleEndian.Uint64(data[16:])), true
		}
		spans = append(spans, s)
	}
	return spans, nil
}
