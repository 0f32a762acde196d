package dev

import (
	"context"
	"os"
	"sync"
	"time"
)

// enter begins to show the run and to take commands: as a live view on a terminal, else as
// lines. r.leave ends both.
func (r *run) enter(ctx context.Context) {
	if isTerminal(r.Stdin) && isTerminal(r.Stdout) && os.Getenv("TERM") != "dumb" && !r.Verbose {
		s := openScreen(ctx, r.Options, r.snapshot(time.Now()), r.commands)
		r.screen = s
		r.leave = sync.OnceFunc(func() {
			r.screen = nil
			s.Close()
		})
		return
	}
	lines := readLines(ctx, r.Stdin, r.lines)
	r.typed = lines != nil
	r.leave = sync.OnceFunc(lines.close)
}
