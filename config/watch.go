package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/internal/watchfile"
)

// Watch retries a file that it could not read or that take refused, even if the file does not
// change: the cause may lie outside the file. The wait doubles.
const (
	firstAgain = 5 * time.Second
	lastAgain  = 5 * time.Minute
)

// Watch calls take with the configuration in the file, now and whenever the file changes. It
// returns nil when ctx ends. It calls take and refuse on the caller's goroutine, one at a time.
//
// take gets only valid configurations, and refuses one by returning an error. Watch then offers it
// again after a wait, and whenever the bytes of the file change. It does not offer a configuration
// equal to the one last taken, except after an error, so that take can see that
// the error is over. It passes each error, of the file or of take, to refuse once, until a different
// error comes.
//
// It watches the file's directory, so it sees replaced files, and the links
// that kubelet swaps in the mount of a ConfigMap. It returns an error when it cannot
// watch at first: the directory may be missing. If the directory goes away later, Watch
// passes that to refuse, and goes on.
func Watch(ctx context.Context, path string, take func(*Configuration) error, refuse func(error)) error {
	w := &watcher{path: path, parse: Parse, take: take, refuse: refuse, settle: watchfile.Settle, firstAgain: firstAgain}
	return w.run(ctx)
}

// Watch is like the function Watch for the file of this process. Flags and environment
// override the file, and take gets nothing until the file differs from the loaded configuration.
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

	current *Configuration // the one last taken; nil at first
	bytes   [sha256.Size]byte
	failure string // the last error; empty once a configuration was taken
	// due is when to look again even if the directory is quiet; zero without a failure. again is
	// the wait until then.
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

// look reads the file and offers a new configuration.
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

// fail reports why nothing was taken, unless that was the last report, and sets the time of the next look.
func (w *watcher) fail(err error) {
	w.again = min(2*w.again, lastAgain)
	if text := err.Error(); text != w.failure {
		w.failure, w.again = text, w.firstAgain
		w.refuse(err)
	}
	w.due = time.Now().Add(w.again)
}
