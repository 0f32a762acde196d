package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/internal/watchfile"
)

// What was refused, or could not be read, is tried again though nothing stirs: its cause may
// lie outside the file. The wait doubles.
const (
	firstAgain = 5 * time.Second
	lastAgain  = 5 * time.Minute
)

// Watch has take get what the file says, now and whenever that changes, until ctx ends; then
// it returns nil. It calls both functions from its own goroutine's stack, one call at a time.
//
// What take gets is valid as a whole. With an error take refuses it. Watch offers the same again
// after a wait, and when the file says it in other words. It does not offer what says the same as
// what was taken, except after an error, which that ends. An error, of the file or of take, goes
// to refuse once, until another one comes.
//
// It watches the file's directory, so it sees files that are replaced and the links
// that kubelet swaps in the mount of a ConfigMap. It returns an error when it cannot
// watch at all: the directory is missing, or goes away.
func Watch(ctx context.Context, path string, take func(*Configuration) error, refuse func(error)) error {
	w := &watcher{path: path, parse: Parse, take: take, refuse: refuse, settle: watchfile.Settle, firstAgain: firstAgain}
	return w.run(ctx)
}

// Watch is like the function Watch for the file of this process: flags and environment
// replace what the file says, and nothing is offered until it differs from what was loaded.
func (p *Process) Watch(ctx context.Context, take func(*Configuration) error, refuse func(error)) error {
	if p.Configuration == nil {
		return errors.New("watch configuration: the process has none")
	}
	w := &watcher{path: p.Config, parse: p.Parse, take: take, refuse: refuse, settle: watchfile.Settle, firstAgain: firstAgain, current: p.Configuration}
	return w.run(ctx)
}

// watcher belongs to the goroutine that runs it.
type watcher struct {
	path       string
	parse      func(string, []byte) (*Configuration, error)
	take       func(*Configuration) error
	refuse     func(error)
	settle     time.Duration
	firstAgain time.Duration

	current *Configuration // what was taken last; nil at first
	bytes   [sha256.Size]byte
	failure string // the last error, unless ended
	// due is when to look at the file though nothing stirs, zero where nothing was refused; again
	// is the wait until then.
	due   time.Time
	again time.Duration
}

func (w *watcher) run(ctx context.Context) error {
	err := watchfile.Watch(ctx, w.path, w.settle, func() time.Time {
		w.look()
		return w.due
	})
	if err != nil {
		return fmt.Errorf("watch configuration: %w", err)
	}
	return nil
}

// look reads the file and offers what is new.
func (w *watcher) look() {
	data, err := readFile(w.path)
	if err != nil {
		w.bytes = [sha256.Size]byte{}
		w.fail(err)
		return
	}
	sum := sha256.Sum256(data)
	if sum == w.bytes && (w.due.IsZero() || time.Now().Before(w.due)) {
		return
	}
	w.bytes = sum
	c, err := w.parse(w.path, data)
	if err == nil && (w.current == nil || w.failure != "" || !same(w.current, c)) {
		err = w.take(c)
	}
	if err != nil {
		w.fail(err)
		return
	}
	w.current, w.failure, w.due = c, "", time.Time{}
}

// fail tells why nothing was taken, unless that was told last, and sets the time of the next look.
func (w *watcher) fail(err error) {
	w.again = min(2*w.again, lastAgain)
	if text := err.Error(); text != w.failure {
		w.failure, w.again = text, w.firstAgain
		w.refuse(err)
	}
	w.due = time.Now().Add(w.again)
}
