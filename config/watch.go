package config

import (
	"cmp"
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

// Follower is what Watch calls.
type Follower struct {
	// Take takes a configuration up, or refuses it by returning an error.
	Take func(*Configuration) error
	// Refuse hears of each error.
	Refuse func(error)
	// Stalls is called when a look at the file has taken longer than Slow, and what it returns is called when that look has ended.
	// Take is a part of the look. A disk that does not answer may hold the look up, and no change is taken up meanwhile.
	// Nil: nobody hears of that.
	Stalls func() (over func())
	// Slow defaults to 15 s.
	Slow time.Duration
}

// Watch calls Take with the configuration in the file, now and whenever the file changes. It
// returns nil when ctx ends, but not before the disk has answered. It calls Take and Refuse on the caller's goroutine, one at a
// time, and Stalls on another, which it joins before it goes on.
//
// Take gets only valid configurations, and refuses one by returning an error. Watch then offers it
// again after a wait, and whenever the bytes of the file change. It does not offer a configuration
// equal to the one last taken, except after an error, so that Take can see that
// the error is over. It passes each error, of the file or of Take, to Refuse once, until a different
// error comes.
//
// It watches the file's directory, so it sees replaced files, and the links
// that kubelet swaps in the mount of a ConfigMap. It returns an error when it cannot
// watch at first: the directory may be missing. If the directory goes away later, Watch
// passes that to Refuse, and goes on.
func Watch(ctx context.Context, path string, f Follower) error {
	w := &watcher{path: path, parse: Parse, Follower: f, settle: watchfile.Settle, firstAgain: firstAgain}
	return w.run(ctx)
}

// Watch is like the function Watch for the file of this process. Flags and environment
// override the file, and Take gets nothing until the file differs from the loaded configuration.
func (p *Process) Watch(ctx context.Context, f Follower) error {
	if p.Configuration == nil {
		return errors.New("watch configuration: the process has none")
	}
	w := &watcher{path: p.Config, parse: p.Parse, Follower: f, settle: watchfile.Settle, firstAgain: firstAgain, current: p.Configuration}
	return w.run(ctx)
}

// watcher belongs to the goroutine that runs it.
type watcher struct {
	Follower

	path       string
	parse      func(string, []byte) (*Configuration, error)
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
	}, watchfile.Stall{After: cmp.Or(w.Slow, watchfile.Slow), Tell: w.Stalls})
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
		err = w.Take(c)
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
		w.Refuse(err)
	}
	w.due = time.Now().Add(w.again)
}
