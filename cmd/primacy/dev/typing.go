package dev

import (
	"bufio"
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/muesli/cancelreader"
)

// typist reads lines from a person or a program.
type typist struct {
	stop func()
}

// hearkens says whether more lines may come from a file, as from a terminal or a pipe.
func hearkens(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && (isTerminal(f) || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0)
}

// readLines sends lines until the file ends or the typist is closed. It returns nil if the file
// cannot deliver lines.
func readLines(ctx context.Context, in *os.File, lines chan<- string) *typist {
	if !hearkens(in) {
		return nil
	}
	// In the background, reading from the terminal would stop us (SIGTTIN).
	signal.Ignore(syscall.SIGTTIN)
	reader, err := cancelreader.NewReader(in)
	if err != nil {
		signal.Reset(syscall.SIGTTIN)
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for s := bufio.NewScanner(reader); s.Scan(); {
			send(ctx, lines, s.Text())
		}
	})
	return &typist{stop: func() {
		cancel()
		if reader.Cancel() {
			wg.Wait()
			_ = reader.Close() // the file itself stays open
		}
		signal.Reset(syscall.SIGTTIN)
	}}
}

func (t *typist) close() {
	if t != nil {
		t.stop()
	}
}
